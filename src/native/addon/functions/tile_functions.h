#pragma once

#include <node_api.h>

namespace graticule::addon {

napi_value mvtToMlt(napi_env env, napi_callback_info info);
napi_value mltToMvt(napi_env env, napi_callback_info info);

}  // namespace graticule::addon
