// Relations between geometries; relations.ts describes the function.
#pragma once

#include "../napi.h"

namespace graticule::addon {

napi_value relateGeometries(napi_env env, napi_callback_info info);

}  // namespace graticule::addon
