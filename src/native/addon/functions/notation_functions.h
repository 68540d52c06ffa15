// Positions as text and text as positions; notations.ts describes the functions.
#pragma once

#include "../napi.h"

namespace graticule::addon {

napi_value formatPositions(napi_env env, napi_callback_info info);
napi_value parsePositions(napi_env env, napi_callback_info info);

}  // namespace graticule::addon
