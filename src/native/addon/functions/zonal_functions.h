// Statistics of rasters in zones; zonal.ts describes the functions.
#pragma once

#include "../napi.h"

namespace graticule::addon {

napi_value createTallies(napi_env env, napi_callback_info info);
napi_value addToTallies(napi_env env, napi_callback_info info);
napi_value readTallies(napi_env env, napi_callback_info info);

}  // namespace graticule::addon
