// Functions of road networks.
#pragma once

#include <node_api.h>

namespace graticule::addon {

napi_value buildNetwork(napi_env env, napi_callback_info info);
napi_value openNetwork(napi_env env, napi_callback_info info);
napi_value describeNetwork(napi_env env, napi_callback_info info);
napi_value readNetworkId(napi_env env, napi_callback_info info);
napi_value findNetworkId(napi_env env, napi_callback_info info);
napi_value locateOnNetwork(napi_env env, napi_callback_info info);
napi_value createNetworkCosts(napi_env env, napi_callback_info info);
napi_value updateNetworkCosts(napi_env env, napi_callback_info info);
napi_value compareNetworkCosts(napi_env env, napi_callback_info info);
napi_value createNetworkQuery(napi_env env, napi_callback_info info);
napi_value findNetworkCosts(napi_env env, napi_callback_info info);
napi_value findNetworkRoute(napi_env env, napi_callback_info info);
napi_value readNetworkGeometry(napi_env env, napi_callback_info info);

}  // namespace graticule::addon
