// Arrays of geometries as functions of the addon take and give them.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include "../core/analytics/projected_geometry.h"
#include "../core/geometry/wkb.h"
#include "../core/geometry/wkb_writer.h"
#include "napi.h"

namespace graticule::addon {

inline uint32_t lengthOf(napi_env env, napi_value array) {
  uint32_t length = 0;
  if (napi_get_array_length(env, array, &length) != napi_ok) throw Failure{"the geometries must be an array", true};
  return length;
}

/**
 * Handle scope that closes automatically, also after exceptions, because Node ends the process if a scope remains
 * open.
 */
class HandleScope {
 public:
  explicit HandleScope(napi_env env) : env_(env) { check(napi_open_handle_scope(env, &scope_)); }
  ~HandleScope() { napi_close_handle_scope(env_, scope_); }
  HandleScope(const HandleScope&) = delete;
  HandleScope& operator=(const HandleScope&) = delete;

 private:
  napi_env env_;
  napi_handle_scope scope_ = nullptr;
};

/**
 * Calls `visit(i, blob, size)` for each element until it returns false. The blob is null if the element is not a
 * Uint8Array.
 */
template <typename Visit>
void eachBlob(napi_env env, napi_value array, Visit&& visit) {
  const uint32_t n = lengthOf(env, array);
  for (uint32_t i = 0; i < n; ++i) {
    const HandleScope scope(env);
    napi_value element;
    check(napi_get_element(env, array, i, &element));
    const uint8_t* blob = nullptr;
    size_t size = 0;
    if (!bytesOf(env, element, blob, size)) blob = nullptr;
    if constexpr (std::is_same_v<decltype(visit(i, blob, size)), bool>) {
      if (!visit(i, blob, size)) return;
    } else {
      visit(i, blob, size);
    }
  }
}

inline bool readInto(const uint8_t* blob, size_t size, Geometry& geometry) {
  BlobHeader header;
  return blob != nullptr && readBlob(blob, size, header, geometry) == ReadStatus::Ok && !header.empty;
}

inline std::shared_ptr<Geos> sharedGeosOf(Environment& environment) {
  if (environment.geos == nullptr) environment.geos = std::make_shared<Geos>();
  return environment.geos;
}

inline Geos& geosOf(Environment& environment) { return *sharedGeosOf(environment); }

inline std::shared_ptr<const Reprojector> reprojectorFor(napi_env env, const std::string& from, const std::string& to) {
  std::string error;
  auto found = environmentOf(env).reprojectors.find(from, to, error);
  if (found == nullptr) throw Failure{error, false};
  return found;
}

/** Passes reprojected blobs to `take(i, wkb, size)` until it returns false. */
template <typename Take>
void eachProjected(napi_env env, napi_value blobs, const Reprojector& reprojector, Take&& take) {
  Environment& environment = environmentOf(env);
  ProjectedGeometry projected;
  ByteBuffer wkb;
  eachBlob(env, blobs, [&](uint32_t i, const uint8_t* blob, size_t size) {
    if (reprojector.identity()) return take(i, blob, size);
    wkb.clear();
    const bool usable = readInto(blob, size, environment.geometry) && projected.project(environment.geometry, reprojector);
    if (usable) writeWkb(projected.geometry(), wkb);
    return take(i, usable ? wkb.data() : nullptr, wkb.size());
  });
}

/** The elements of a typed array. */
template <typename T>
struct Elements {
  T* data;
  size_t size;
};

template <typename T>
Elements<T> requireElements(napi_env env, napi_value value, napi_typedarray_type kind, const char* what) {
  bool typed = false;
  check(napi_is_typedarray(env, value, &typed));
  napi_typedarray_type type = napi_uint8_array;
  size_t length = 0;
  void* data = nullptr;
  if (typed) check(napi_get_typedarray_info(env, value, &type, &length, &data, nullptr, nullptr));
  if (!typed || type != kind) throw Failure{std::string(what) + " is no typed array of this kind", true};
  return {static_cast<T*>(data), length};
}

inline Elements<double> requireDoubles(napi_env env, napi_value value, const char* what) {
  return requireElements<double>(env, value, napi_float64_array, what);
}

/** A new typed array of `length` elements; `data` is where they are. */
template <typename T>
napi_value makeArray(napi_env env, napi_typedarray_type type, size_t length, T*& data) {
  napi_value buffer;
  napi_value array;
  void* bytes = nullptr;
  check(napi_create_arraybuffer(env, length * sizeof(T), &bytes, &buffer));
  check(napi_create_typedarray(env, type, length, buffer, 0, &array));
  data = static_cast<T*>(bytes);
  return array;
}

}  // namespace graticule::addon
