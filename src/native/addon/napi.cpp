#include "napi.h"

namespace graticule::addon {

bool bytesOf(napi_env env, napi_value value, const uint8_t*& data, size_t& size) {
  bool typed = false;
  check(napi_is_typedarray(env, value, &typed));
  if (!typed) return false;
  napi_typedarray_type type;
  void* bytes = nullptr;
  check(napi_get_typedarray_info(env, value, &type, &size, &bytes, nullptr, nullptr));
  data = static_cast<const uint8_t*>(bytes);
  return type == napi_uint8_array;
}

bool readText(napi_env env, napi_value value, std::string& out) {
  size_t size = 0;
  if (napi_get_value_string_utf8(env, value, nullptr, 0, &size) != napi_ok) return false;
  out.resize(size);
  // N-API also writes a terminating zero, for which std::string has space.
  return napi_get_value_string_utf8(env, value, out.data(), size + 1, &size) == napi_ok;
}

std::string requireText(napi_env env, napi_value value, const char* what) {
  std::string text;
  if (!readText(env, value, text)) throw Failure{std::string(what) + " must be a string", true};
  return text;
}

double requireNumber(napi_env env, napi_value value, const char* what) {
  double number = 0;
  if (napi_get_value_double(env, value, &number) != napi_ok) {
    throw Failure{std::string(what) + " must be a number", true};
  }
  return number;
}

bool requireBoolean(napi_env env, napi_value value, const char* what) {
  bool boolean = false;
  if (napi_get_value_bool(env, value, &boolean) != napi_ok) throw Failure{std::string(what) + " must be a boolean", true};
  return boolean;
}

uint32_t requireWhole(napi_env env, napi_value value, const char* what, double least, double most) {
  const double number = requireNumber(env, value, what);
  if (!(number >= least && number <= most) || number != static_cast<uint32_t>(number))
    throw Failure{std::string(what) + " is out of range", true};
  return static_cast<uint32_t>(number);
}

napi_value toText(napi_env env, const char* text, size_t size) {
  napi_value value;
  check(napi_create_string_utf8(env, text, size, &value));
  return value;
}

/** A geometry of GEOS with its boxes and its place in a tree, about. */
constexpr int64_t kGrowth = 4;

void Accounted::grow(napi_env env, size_t geometries) {
  const int64_t more = kGrowth * static_cast<int64_t>(geometries);
  int64_t all;
  if (napi_adjust_external_memory(env, more, &all) == napi_ok) bytes += more;
}

napi_value toNumber(napi_env env, double number) {
  napi_value value;
  check(napi_create_double(env, number, &value));
  return value;
}

napi_value toBoolean(napi_env env, bool boolean) {
  napi_value value;
  check(napi_get_boolean(env, boolean, &value));
  return value;
}

napi_value toBuffer(napi_env env, const uint8_t* data, size_t size) {
  napi_value value;
  void* copy = nullptr;
  check(data == nullptr ? napi_create_buffer(env, 0, &copy, &value)
                        : napi_create_buffer_copy(env, size, data, &copy, &value));
  return value;
}

napi_value toBox(napi_env env, const Box& box) {
  napi_value array;
  check(napi_create_array_with_length(env, 4, &array));
  uint32_t i = 0;
  for (const double v : {box.minX, box.minY, box.maxX, box.maxY}) {
    check(napi_set_element(env, array, i++, toNumber(env, v)));
  }
  return array;
}

void setProperty(napi_env env, napi_value object, const char* name, napi_value value) {
  check(napi_set_named_property(env, object, name, value));
}

void throwFailure(napi_env env, const Failure& failure) {
  (failure.type ? napi_throw_type_error : napi_throw_error)(env, failure.code, failure.message.c_str());
  if (failure.place.empty()) return;
  napi_value error;
  napi_value place;
  if (napi_get_and_clear_last_exception(env, &error) != napi_ok) return;
  if (napi_create_string_utf8(env, failure.place.data(), failure.place.size(), &place) == napi_ok)
    napi_set_named_property(env, error, "place", place);
  napi_throw(env, error);
}

}  // namespace graticule::addon
