// Processing of geometries; processing.ts describes the functions.
#pragma once

#include "../napi.h"

namespace graticule::addon {

napi_value processGeometries(napi_env env, napi_callback_info info);
napi_value processCollection(napi_env env, napi_callback_info info);
napi_value createOverlay(napi_env env, napi_callback_info info);
napi_value addToOverlay(napi_env env, napi_callback_info info);
napi_value overlayGeometries(napi_env env, napi_callback_info info);
napi_value intersectGeometries(napi_env env, napi_callback_info info);
napi_value snapGeometries(napi_env env, napi_callback_info info);
napi_value geometryParts(napi_env env, napi_callback_info info);
napi_value createUnion(napi_env env, napi_callback_info info);
napi_value addToUnion(napi_env env, napi_callback_info info);
napi_value takeUnion(napi_env env, napi_callback_info info);

}  // namespace graticule::addon
