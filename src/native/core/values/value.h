// One attribute value on its way from a row to an encoder. Text and blobs are borrowed.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>

namespace graticule {

struct Value {
  enum class Kind : uint8_t { Null, Integer, Real, Boolean, Text, Blob };

  Kind kind = Kind::Null;
  int64_t integer = 0;
  double real = 0;
  /** UTF-8 for Text; not to be trusted to be well formed. */
  const char* bytes = nullptr;
  size_t size = 0;

  static Value ofInteger(int64_t v) {
    Value value;
    value.kind = Kind::Integer;
    value.integer = v;
    return value;
  }
  static Value ofReal(double v) {
    Value value;
    value.kind = Kind::Real;
    value.real = v;
    return value;
  }
  static Value ofBoolean(bool v) {
    Value value;
    value.kind = Kind::Boolean;
    value.integer = v;
    return value;
  }
  static Value ofText(const char* bytes, size_t size) {
    Value value;
    value.kind = Kind::Text;
    value.bytes = bytes;
    value.size = size;
    return value;
  }
  static Value ofBlob(const void* bytes, size_t size) {
    Value value;
    value.kind = Kind::Blob;
    value.bytes = static_cast<const char*>(bytes);
    value.size = size;
    return value;
  }
};

/** The number of an id: ids beyond 2^53 come as text of their digits. False for other ids. */
inline bool readIntegerId(const Value& id, int64_t& number) {
  if (id.kind == Value::Kind::Integer) {
    number = id.integer;
    return true;
  }
  if (id.kind != Value::Kind::Text) return false;
  const char* const end = id.bytes + id.size;
  const auto [rest, error] = std::from_chars(id.bytes, end, number);
  return error == std::errc() && rest == end;
}

/** Declared type of an attribute column: FieldType of src/core/tasks/tasks.ts. */
enum class FieldType : uint8_t { Integer, Number, String, Boolean, Date, DateTime, Binary, Json, Any };

}  // namespace graticule
