#include "text_types.h"

#include <strings.h>

namespace graticule {
namespace {

/** Digits that a double, and a number in JSON, surely keeps. */
constexpr int kMaxDigits = 15;
/** Maximum exponent of measurements. Text beyond it is a name, such as `7E999`. */
constexpr int kMaxExponent = 300;

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/** Reads a text from its start. */
struct Reader {
  const char* at;
  const char* end;

  bool take(char c) {
    if (at == end || *at != c) return false;
    ++at;
    return true;
  }

  int digits() {
    const char* const begin = at;
    while (at != end && isDigit(*at)) ++at;
    return static_cast<int>(at - begin);
  }

  /** Returns a number with exactly this number of digits within limits. -1 for other text. */
  int number(int digits, int least, int most) {
    int value = 0;
    for (int i = 0; i < digits; ++i, ++at) {
      if (at == end || !isDigit(*at)) return -1;
      value = value * 10 + (*at - '0');
    }
    return value >= least && value <= most ? value : -1;
  }

  bool done() const { return at == end; }
};

enum class Numeric { None, Integer, Real };

Numeric numericOf(Reader in) {
  in.take('-');
  const char* const begin = in.at;
  const int whole = in.digits();
  // A leading zero is part of a code.
  if (whole > 1 && *begin == '0') return Numeric::None;
  int fraction = 0;
  const bool point = in.take('.');
  if (point) fraction = in.digits();
  if (whole + fraction == 0 || whole + fraction > kMaxDigits || (point && fraction == 0)) return Numeric::None;
  if (in.done()) return point ? Numeric::Real : Numeric::Integer;
  if (!in.take('e') && !in.take('E')) return Numeric::None;
  if (!in.take('-')) in.take('+');
  int exponent = 0;
  const char* const digits = in.at;
  if (in.digits() == 0 || !in.done() || in.at - digits > 3) return Numeric::None;
  for (const char* c = digits; c != in.at; ++c) exponent = exponent * 10 + (*c - '0');
  // `1E5` may be a code; a measurement has a point.
  return point && exponent <= kMaxExponent ? Numeric::Real : Numeric::None;
}

bool isLeap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

/** A day that exists: `2024-02-29`. */
bool takeDate(Reader& in) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const int year = in.number(4, 0, 9999);
  if (year < 0 || !in.take('-')) return false;
  const int month = in.number(2, 1, 12);
  if (month < 0 || !in.take('-')) return false;
  return in.number(2, 1, kDays[month - 1] + (month == 2 && isLeap(year) ? 1 : 0)) > 0;
}

/** `10:15`, `10:15:30.123`, with or without `Z` or `+01:00`. */
bool takeTime(Reader& in) {
  if (in.number(2, 0, 23) < 0 || !in.take(':') || in.number(2, 0, 59) < 0) return false;
  if (in.take(':')) {
    if (in.number(2, 0, 59) < 0) return false;
    // Stores keep milliseconds.
    if (in.take('.')) {
      const int digits = in.digits();
      if (digits == 0 || digits > 3) return false;
    }
  }
  if (in.done() || in.take('Z')) return true;
  if (!in.take('+') && !in.take('-')) return false;
  return in.number(2, 0, 14) >= 0 && in.take(':') && in.number(2, 0, 59) >= 0;
}

bool equals(const Reader& in, const char* word, size_t size) {
  return static_cast<size_t>(in.end - in.at) == size && strncasecmp(in.at, word, size) == 0;
}

}  // namespace

uint8_t TextType::kindsOf(const char* text, size_t size) {
  const Reader in{text, text + size};
  switch (numericOf(in)) {
    case Numeric::Integer: return kInteger | kNumber;
    case Numeric::Real: return kNumber;
    case Numeric::None: break;
  }
  if (equals(in, "true", 4) || equals(in, "false", 5)) return kBoolean;
  Reader date = in;
  if (!takeDate(date)) return 0;
  if (date.done()) return kDate;
  return (date.take('T') || date.take(' ')) && takeTime(date) && date.done() ? kDateTime : 0;
}

void TextType::add(const char* text, size_t size) {
  if (size == 0) return;
  empty_ = false;
  if (kinds_ != 0) kinds_ &= kindsOf(text, size);
}

const char* TextType::name() const {
  if (empty_) return nullptr;
  if (kinds_ & kInteger) return "integer";
  if (kinds_ & kNumber) return "number";
  if (kinds_ & kBoolean) return "boolean";
  if (kinds_ & kDate) return "date";
  return kinds_ & kDateTime ? "date-time" : "text";
}

}  // namespace graticule
