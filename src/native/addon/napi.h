// The little of N-API that the addon needs, and the state of one environment (one thread).
#pragma once

#include <node_api.h>

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <type_traits>

#include "../core/deflate/compressor.h"
#include "../core/deflate/decompressor.h"
#include "../core/formats/geojson.h"
#include "../core/formats/geojson_reader.h"
#include "../core/geometry/geos.h"
#include "../core/mlt/encoder.h"
#include "../core/geometry/reprojector.h"

namespace graticule::addon {

/** Thrown by the functions of the addon; becomes a JavaScript Error or TypeError. */
struct Failure {
  std::string message;
  bool type = false;
  /** Member of the argument that is wrong, as `error.place`. */
  std::string place = {};
  /** Value of `error.code`. */
  const char* code = nullptr;
};

/** Code of a failure because of too many bytes, the same as in Node.js. */
constexpr const char* kTooLarge = "ERR_BUFFER_TOO_LARGE";

/** State of one environment: every worker thread loads the addon and has its own. */
struct Environment {
  ReprojectorCache reprojectors;
  CompressorCache compressors;
  Decompressor decompressor;
  GeoJsonGeometryWriter geometryWriter;
  GeoJsonReader geometryReader;
  /** Made on first use. */
  std::shared_ptr<Geos> geos;
  std::unique_ptr<mlt::Encoder> mltEncoder;
  Geometry geometry;
  ByteBuffer text;
};

inline void check(napi_status status) {
  if (status != napi_ok) throw Failure{"a native call failed", false};
}

inline Environment& environmentOf(napi_env env) {
  void* data = nullptr;
  check(napi_get_instance_data(env, &data));
  return *static_cast<Environment*>(data);
}

/** Arguments of a call; the missing ones are undefined. */
template <size_t N>
struct Arguments {
  Arguments(napi_env env, napi_callback_info info) {
    size_t count = N;
    check(napi_get_cb_info(env, info, &count, values, &self, nullptr));
  }
  napi_value operator[](size_t i) const { return values[i]; }

  napi_value values[N == 0 ? 1 : N];
  napi_value self = nullptr;
};

/** Reads the bytes of a Uint8Array or Buffer. False for any other value. */
bool bytesOf(napi_env env, napi_value value, const uint8_t*& data, size_t& size);
/** Reads text into `out`. Returns false if the value is not a string. */
bool readText(napi_env env, napi_value value, std::string& out);
std::string requireText(napi_env env, napi_value value, const char* what);
double requireNumber(napi_env env, napi_value value, const char* what);
bool requireBoolean(napi_env env, napi_value value, const char* what);
uint32_t requireWhole(napi_env env, napi_value value, const char* what, double least, double most);

napi_value toText(napi_env env, const char* text, size_t size);
inline napi_value toText(napi_env env, const std::string& text) { return toText(env, text.data(), text.size()); }
napi_value toNumber(napi_env env, double value);
napi_value toBoolean(napi_env env, bool value);
/** A Buffer with a copy of the bytes. */
napi_value toBuffer(napi_env env, const uint8_t* data, size_t size);
/** [minx, miny, maxx, maxy] */
napi_value toBox(napi_env env, const Box& box);
void setProperty(napi_env env, napi_value object, const char* name, napi_value value);

/**
 * Growing native memory that is reported to the garbage collector. Otherwise many of these objects would be kept for
 * long.
 */
struct Accounted {
  int64_t bytes = 0;
  /** Records growth for this many bytes of geometries. */
  void grow(napi_env env, size_t geometries);
};

/** A value for JavaScript that owns an object. */
template <typename T>
napi_value toExternal(napi_env env, std::unique_ptr<T> object) {
  const auto destroy = []([[maybe_unused]] napi_env owner, void* data, void*) {
    T* mine = static_cast<T*>(data);
    if constexpr (std::is_base_of_v<Accounted, T>) {
      int64_t all;
      napi_adjust_external_memory(owner, -mine->bytes, &all);
    }
    delete mine;
  };
  napi_value value;
  check(napi_create_external(env, object.get(), destroy, nullptr, &value));
  object.release();
  return value;
}

/** The object of such a value, which must be of this type. */
template <typename T>
T& requireExternal(napi_env env, napi_value value, const char* what) {
  void* object = nullptr;
  if (napi_get_value_external(env, value, &object) != napi_ok) throw Failure{std::string(what) + " is something else", true};
  return *static_cast<T*>(object);
}

/** Throws it in JavaScript. */
void throwFailure(napi_env env, const Failure& failure);

using Function = napi_value (*)(napi_env, napi_callback_info);

/** Converts every C++ exception of F to a JavaScript exception, because no other exception may leave the addon. */
template <Function F>
napi_value guarded(napi_env env, napi_callback_info info) {
  try {
    return F(env, info);
  } catch (const Failure& failure) {
    bool pending = false;
    napi_is_exception_pending(env, &pending);
    if (pending) return nullptr;
    throwFailure(env, failure);
  } catch (const std::bad_alloc&) {
    napi_throw_range_error(env, "ERR_OUT_OF_MEMORY", "out of memory in native code");
  } catch (...) {
    napi_throw_error(env, nullptr, "internal error in native code");
  }
  return nullptr;
}

napi_value defineLayerEncoder(napi_env env);
napi_value geometryToGeoJson(napi_env env, napi_callback_info info);
napi_value transformBox(napi_env env, napi_callback_info info);
napi_value transformPoints(napi_env env, napi_callback_info info);
napi_value describeCrs(napi_env env, napi_callback_info info);
napi_value listCrs(napi_env env, napi_callback_info info);
napi_value namesFile(napi_env env, napi_callback_info info);
napi_value geojsonToWkb(napi_env env, napi_callback_info info);
napi_value wkbToGeoPackage(napi_env env, napi_callback_info info);
napi_value validateGeometry(napi_env env, napi_callback_info info);
napi_value gzip(napi_env env, napi_callback_info info);
napi_value gunzip(napi_env env, napi_callback_info info);
napi_value gunzippedSize(napi_env env, napi_callback_info info);
napi_value compressBytes(napi_env env, napi_callback_info info);
napi_value createZstdStream(napi_env env, napi_callback_info info);
napi_value writeZstdStream(napi_env env, napi_callback_info info);
napi_value unzstd(napi_env env, napi_callback_info info);
napi_value unzstdLater(napi_env env, napi_callback_info info);
napi_value encodePng(napi_env env, napi_callback_info info);
napi_value encodePicturePng(napi_env env, napi_callback_info info);
napi_value encodeFewColorsPng(napi_env env, napi_callback_info info);
napi_value encodeTiffTiles(napi_env env, napi_callback_info info);
napi_value mergeFunction(napi_env env, napi_callback_info info);
napi_value releaseBytes(napi_env env, napi_callback_info info);
napi_value watchLoop(napi_env env, napi_callback_info info);

}  // namespace graticule::addon
