// Times of stores that write them without a zone.
#pragma once

#include <cstring>

#include "value.h"

namespace graticule {

/** A value of a column of times as RFC 3339 has it: one without a zone is UTC. All other values are unchanged. */
class ZonedTime {
 public:
  ZonedTime(FieldType type, const Value& value) : value_(value) {
    if (type != FieldType::DateTime || value.kind != Value::Kind::Text || !lacksZone(value.bytes, value.size)) return;
    std::memcpy(text_, value.bytes, value.size);
    text_[10] = 'T';
    text_[value.size] = 'Z';
    value_ = Value::ofText(text_, value.size + 1);
  }
  ZonedTime(const ZonedTime&) = delete;
  ZonedTime& operator=(const ZonedTime&) = delete;

  const Value& value() const { return value_; }

 private:
  /** Minimum size: `2020-01-01T00:00`. Maximum size: with a fraction of nanoseconds. */
  static constexpr size_t kMinSize = 16;
  static constexpr size_t kMaxSize = 29;

  static bool isDigit(char c) { return c >= '0' && c <= '9'; }

  static bool lacksZone(const char* p, size_t size) {
    if (size < kMinSize || size > kMaxSize || (p[10] != 'T' && p[10] != ' ')) return false;
    for (size_t i = 0; i < size; ++i) {
      if (i == 10) continue;
      const char sign = i == 4 || i == 7 ? '-' : i == 13 || i == 16 ? ':' : i == 19 ? '.' : 0;
      if (sign == 0 ? !isDigit(p[i]) : p[i] != sign) return false;
    }
    return isDigit(p[size - 1]);
  }

  Value value_;
  char text_[kMaxSize + 1];
};

}  // namespace graticule
