// Coordinate operations; operations.ts describes the functions.
#pragma once

#include "../napi.h"

namespace graticule::addon {

napi_value findOperations(napi_env env, napi_callback_info info);
napi_value transformByOperation(napi_env env, napi_callback_info info);

}  // namespace graticule::addon
