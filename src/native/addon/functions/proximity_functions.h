// Distances and measures of geometries; proximity.ts describes the functions.
#pragma once

#include "../napi.h"

namespace graticule::addon {

napi_value createNearest(napi_env env, napi_callback_info info);
napi_value addToNearest(napi_env env, napi_callback_info info);
napi_value searchNearest(napi_env env, napi_callback_info info);
napi_value distanceMatrix(napi_env env, napi_callback_info info);
napi_value measureGeometries(napi_env env, napi_callback_info info);

}  // namespace graticule::addon
