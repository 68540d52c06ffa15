// Analytics of the addon; analytics.ts describes them.
#pragma once

#include "../napi.h"

namespace graticule::addon {

napi_value centroids(napi_env env, napi_callback_info info);
napi_value dbscan(napi_env env, napi_callback_info info);
napi_value createKMeans(napi_env env, napi_callback_info info);
napi_value iterateKMeans(napi_env env, napi_callback_info info);
napi_value readKMeans(napi_env env, napi_callback_info info);
napi_value createPointTree(napi_env env, napi_callback_info info);
napi_value sumNeighbours(napi_env env, napi_callback_info info);
napi_value h3Cells(napi_env env, napi_callback_info info);
napi_value h3Polygons(napi_env env, napi_callback_info info);
napi_value ringsToGeoJson(napi_env env, napi_callback_info info);
napi_value bufferUnion(napi_env env, napi_callback_info info);
napi_value createJoin(napi_env env, napi_callback_info info);
napi_value addToJoin(napi_env env, napi_callback_info info);
napi_value matchJoin(napi_env env, napi_callback_info info);

}  // namespace graticule::addon
