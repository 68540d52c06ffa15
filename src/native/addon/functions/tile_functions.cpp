// Vector tiles as MapLibre Tiles, and back.
#include "tile_functions.h"

#include "../../core/mlt/decoder.h"
#include "../../core/mlt/encoder.h"
#include "../napi.h"

namespace graticule::addon {
namespace {

/** Bytes of memory that are kept between tiles. Memory of larger tiles is freed. */
constexpr size_t kKeptMemory = 4u << 20;

/** Runs a conversion of a tile. Its exceptions are thrown in JavaScript. */
template <typename Convert>
napi_value converted(napi_env env, napi_callback_info info, const char* name, Convert&& convert) {
  const Arguments<1> arguments(env, info);
  const uint8_t* tile = nullptr;
  size_t size = 0;
  if (!bytesOf(env, arguments[0], tile, size)) throw Failure{"the tile must be a Uint8Array", true};
  ByteBuffer out;
  try {
    convert(tile, size, out);
  } catch (const mlt::Broken& broken) {
    throw Failure{std::string("the bytes are no ") + name + ": " + broken.why, false};
  } catch (const mlt::TooLarge&) {
    throw Failure{"the tile holds too much", false, {}, kTooLarge};
  }
  return toBuffer(env, out.data(), out.size());
}

}  // namespace

/**
 * (tile: Uint8Array) -> the same as a MapLibre Tile. Fails for bytes that are not a vector tile, and for tiles beyond
 * the limits.
 */
napi_value mvtToMlt(napi_env env, napi_callback_info info) {
  Environment& environment = environmentOf(env);
  return converted(env, info, "vector tile", [&](const uint8_t* tile, size_t size, ByteBuffer& out) {
    // The encoder is removed first, so that it is not reused after a failure.
    auto encoder = std::move(environment.mltEncoder);
    if (encoder == nullptr) encoder = std::make_unique<mlt::Encoder>();
    encoder->encode(tile, size, out);
    if (size <= kKeptMemory) environment.mltEncoder = std::move(encoder);
  });
}

/**
 * (tile: Uint8Array) -> the same as a vector tile. Fails for bytes that are not a MapLibre Tile, and for tiles beyond
 * the limits.
 */
napi_value mltToMvt(napi_env env, napi_callback_info info) {
  return converted(env, info, "MapLibre Tile", [](const uint8_t* tile, size_t size, ByteBuffer& out) {
    mlt::Decoder().decode(tile, size, out);
  });
}

}  // namespace graticule::addon
