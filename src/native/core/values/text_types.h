// Type that fits all strings of a column without loss.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graticule {

/**
 * Determines the possible type of a text column, value by value. Strings that a number would not reproduce, such as
 * `007`, `+49` and numbers of more than 15 digits, make it text. Empty strings do not count.
 */
class TextType {
 public:
  void add(const char* text, size_t size);

  /** `integer`, `number`, `boolean`, `date`, `date-time` or `text`; null when all texts are empty. */
  const char* name() const;

 private:
  enum Kind : uint8_t { kInteger = 1, kNumber = 2, kBoolean = 4, kDate = 8, kDateTime = 16 };
  static uint8_t kindsOf(const char* text, size_t size);

  uint8_t kinds_ = kInteger | kNumber | kBoolean | kDate | kDateTime;
  bool empty_ = true;
};

}  // namespace graticule
