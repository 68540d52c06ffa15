#include "instant.h"

namespace graticule {
namespace {

/** Reads two digits. */
bool readPair(const char* text, int& value) {
  if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9') return false;
  value = (text[0] - '0') * 10 + (text[1] - '0');
  return true;
}

/** Days since 1970 of a date of the proleptic Gregorian calendar. */
int64_t daysOf(int64_t year, int month, int day) {
  year -= month <= 2;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const auto yearOfEra = static_cast<int>(year - era * 400);
  const int dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear;
  return era * 146097 + dayOfEra - 719468;
}

/** Minutes that a zone is ahead of UTC. */
bool readZone(const char* text, size_t size, int& minutes) {
  minutes = 0;
  if (size == 0 || (size == 1 && (text[0] == 'Z' || text[0] == 'z'))) return true;
  if (text[0] != '+' && text[0] != '-') return false;
  int hours = 0, rest = 0;
  if (size < 3 || !readPair(text + 1, hours)) return false;
  const size_t at = size > 3 && text[3] == ':' ? 4 : 3;
  if (size != 3 && (size != at + 2 || !readPair(text + at, rest))) return false;
  minutes = (hours * 60 + rest) * (text[0] == '-' ? -1 : 1);
  return true;
}

/** Bytes of `YYYY-MM-DD`. */
constexpr size_t kDaySize = 10;
constexpr int64_t kMicrosPerDay = 86'400'000'000;

int64_t floorDivide(int64_t value, int64_t by) { return (value >= 0 ? value : value - by + 1) / by; }

struct Date {
  int64_t year = 0;
  int64_t month = 0;
  int64_t day = 0;
};

/** The date of a day counted from 1970-01-01. False for years that have no four digits. */
bool readDate(int64_t days, Date& date) {
  // Years start in March here, so that the leap day is the last day of a year. An era is 400 years.
  const int64_t shifted = days + 719'468;
  const int64_t era = floorDivide(shifted, 146'097);
  const int64_t dayOfEra = shifted - era * 146'097;
  const int64_t yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36'524 - dayOfEra / 146'096) / 365;
  const int64_t dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
  const int64_t shiftedMonth = (5 * dayOfYear + 2) / 153;
  date.month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  date.year = yearOfEra + era * 400 + (date.month <= 2 ? 1 : 0);
  date.day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1;
  return date.year >= 0 && date.year <= 9999;
}

char* putPadded(char* out, int64_t value, int digits) {
  for (int i = digits - 1; i >= 0; --i, value /= 10) out[i] = static_cast<char>('0' + value % 10);
  return out + digits;
}

char* putMark(char* out, char mark) {
  *out = mark;
  return out + 1;
}

}  // namespace

bool readDay(const char* text, size_t size, int64_t& milliseconds) {
  int century = 0, year = 0, month = 0, day = 0;
  if (size != kDaySize || text[4] != '-' || text[7] != '-') return false;
  if (!readPair(text, century) || !readPair(text + 2, year) || !readPair(text + 5, month) || !readPair(text + 8, day)) {
    return false;
  }
  if (month < 1 || month > 12 || day < 1 || day > 31) return false;
  milliseconds = daysOf(century * 100 + year, month, day) * 86'400'000;
  return true;
}

bool readMicroseconds(const char* text, size_t size, int64_t& microseconds) {
  int64_t midnight = 0;
  int hour = 0, minute = 0, second = 0;
  if (size < 19 || text[13] != ':' || text[16] != ':' || !readDay(text, kDaySize, midnight)) return false;
  if (text[10] != 'T' && text[10] != 't' && text[10] != ' ') return false;
  if (!readPair(text + 11, hour) || !readPair(text + 14, minute) || !readPair(text + 17, second)) return false;
  if (hour > 24 || minute > 59 || second > 60) return false;
  size_t at = 19;
  int64_t fraction = 0;
  if (at < size && text[at] == '.') {
    int64_t unit = 100'000;
    for (++at; at < size && text[at] >= '0' && text[at] <= '9'; ++at) {
      fraction += unit * (text[at] - '0');
      unit /= 10;
    }
  }
  int zone = 0;
  if (!readZone(text + at, size - at, zone)) return false;
  const int64_t minutes = hour * 60 + minute - zone;
  microseconds = midnight * 1000 + (minutes * 60 + second) * 1'000'000 + fraction;
  return true;
}

bool readInstant(const char* text, size_t size, int64_t& milliseconds) {
  int64_t microseconds = 0;
  if (!readMicroseconds(text, size, microseconds)) return false;
  milliseconds = floorDivide(microseconds, 1000);
  return true;
}

bool readTime(FieldType type, const Value& value, int64_t& milliseconds) {
  if (type == FieldType::DateTime) return readInstant(value.bytes, value.size, milliseconds);
  return type == FieldType::Date && readDay(value.bytes, value.size, milliseconds);
}

size_t putMicroseconds(char* out, int64_t microseconds) {
  const int64_t days = floorDivide(microseconds, kMicrosPerDay);
  const int64_t ofDay = microseconds - days * kMicrosPerDay;
  const int64_t seconds = ofDay / 1'000'000;
  Date date;
  if (!readDate(days, date)) return 0;
  char* p = putPadded(out, date.year, 4);
  p = putPadded(putMark(p, '-'), date.month, 2);
  p = putPadded(putMark(p, '-'), date.day, 2);
  p = putPadded(putMark(p, 'T'), seconds / 3600, 2);
  p = putPadded(putMark(p, ':'), seconds / 60 % 60, 2);
  p = putPadded(putMark(p, ':'), seconds % 60, 2);
  p = putPadded(putMark(p, '.'), ofDay % 1'000'000, 6);
  return static_cast<size_t>(p - out);
}

}  // namespace graticule
