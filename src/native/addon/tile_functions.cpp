// Vector tiles as MapLibre Tiles.
#include "napi.h"
#include "tile_functions.h"

namespace graticule::addon {

/** (tile: Uint8Array) -> the same as a MapLibre Tile; fails for what is no vector tile. */
napi_value mvtToMlt(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  Environment& environment = environmentOf(env);
  const uint8_t* tile = nullptr;
  size_t size = 0;
  if (!bytesOf(env, arguments[0], tile, size)) throw Failure{"the tile must be a Uint8Array", true};
  if (environment.mltEncoder == nullptr) environment.mltEncoder = std::make_unique<mlt::Encoder>();
  environment.text.clear();
  if (!environment.mltEncoder->encode(tile, size, environment.text)) {
    throw Failure{"the bytes are no vector tile", false};
  }
  napi_value result = toBuffer(env, environment.text.data(), environment.text.size());
  environment.text.shrink(4u << 20);
  return result;
}

}  // namespace graticule::addon
