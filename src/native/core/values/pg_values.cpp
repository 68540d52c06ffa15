#include "pg_values.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "number.h"

namespace graticule {
namespace {

constexpr int64_t kMicrosPerDay = 86'400'000'000;
/** Days from 1970-01-01 to 2000-01-01, where PostgreSQL counts from. */
constexpr int64_t kEpochDays = 10'957;
/** Most digits of a number that is written out; PostgreSQL allows 131072 before the point. */
constexpr int kMaxNumericGroups = 4096;

template <typename T>
T loadBig(const char* p) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value = value << 8 | static_cast<uint8_t>(p[i]);
  return static_cast<T>(value);
}

Value textIn(const ByteBuffer& scratch) {
  return Value::ofText(reinterpret_cast<const char*>(scratch.data()), scratch.size());
}

void putDigits(ByteBuffer& out, int64_t value, int digits) {
  uint8_t* p = out.reserve(static_cast<size_t>(digits));
  for (int i = digits - 1; i >= 0; --i, value /= 10) p[i] = static_cast<uint8_t>('0' + value % 10);
  out.commit(p + digits);
}

/** Years outside 0 to 9999 take a sign and six digits (ISO 8601, expanded representation). */
void putYear(ByteBuffer& out, int64_t year) {
  if (year >= 0 && year <= 9999) return putDigits(out, year, 4);
  out.push(year < 0 ? '-' : '+');
  const int64_t digits = year < 0 ? -year : year;
  putDigits(out, digits, digits > 999'999 ? 7 : 6);
}

/** A day counted from 1970-01-01 in the proleptic Gregorian calendar. */
void putDate(ByteBuffer& out, int64_t days) {
  // Years start in March here, so that the leap day is the last day of a year. An era is 400 years.
  const int64_t shifted = days + 719'468;
  const int64_t era = (shifted >= 0 ? shifted : shifted - 146'096) / 146'097;
  const int64_t dayOfEra = shifted - era * 146'097;
  const int64_t yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36'524 - dayOfEra / 146'096) / 365;
  const int64_t dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
  const int64_t shiftedMonth = (5 * dayOfYear + 2) / 153;
  const int64_t month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  putYear(out, yearOfEra + era * 400 + (month <= 2 ? 1 : 0));
  out.push('-');
  putDigits(out, month, 2);
  out.push('-');
  putDigits(out, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1, 2);
}

Value ofDate(int32_t days, ByteBuffer& scratch) {
  if (days == std::numeric_limits<int32_t>::max() || days == std::numeric_limits<int32_t>::min()) return {};
  putDate(scratch, days + kEpochDays);
  return textIn(scratch);
}

Value ofTimestamp(int64_t micros, ByteBuffer& scratch) {
  if (micros == std::numeric_limits<int64_t>::max() || micros == std::numeric_limits<int64_t>::min()) return {};
  int64_t days = micros / kMicrosPerDay;
  int64_t ofDay = micros % kMicrosPerDay;
  if (ofDay < 0) {
    ofDay += kMicrosPerDay;
    --days;
  }
  putDate(scratch, days + kEpochDays);
  const int64_t seconds = ofDay / 1'000'000;
  const struct {
    char before;
    int64_t value;
  } parts[] = {{'T', seconds / 3600}, {':', seconds / 60 % 60}, {':', seconds % 60}};
  for (const auto& part : parts) {
    scratch.push(static_cast<uint8_t>(part.before));
    putDigits(scratch, part.value, 2);
  }
  if (int64_t fraction = ofDay % 1'000'000; fraction != 0) {
    int digits = 6;
    for (; fraction % 10 == 0; fraction /= 10) --digits;
    scratch.push('.');
    putDigits(scratch, fraction, digits);
  }
  scratch.push('Z');
  return textIn(scratch);
}

Value ofUuid(const char* bytes, ByteBuffer& scratch) {
  constexpr char kHex[] = "0123456789abcdef";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) scratch.push('-');
    const auto byte = static_cast<uint8_t>(bytes[i]);
    scratch.push(static_cast<uint8_t>(kHex[byte >> 4]));
    scratch.push(static_cast<uint8_t>(kHex[byte & 15]));
  }
  return textIn(scratch);
}

/** Groups of four decimal digits: count, weight of the first, sign, decimals to show, groups. All as text, exactly. */
Value ofNumeric(const char* bytes, size_t size, ByteBuffer& scratch) {
  constexpr uint16_t kNegative = 0x4000;
  if (size < 8) return {};
  const int groups = loadBig<uint16_t>(bytes);
  const int weight = loadBig<int16_t>(bytes + 2);
  const auto sign = loadBig<uint16_t>(bytes + 4);
  const int scale = loadBig<uint16_t>(bytes + 6);
  const bool number = sign == 0 || sign == kNegative;
  if (!number || size < 8 + size_t(groups) * 2 || weight > kMaxNumericGroups || scale > kMaxNumericGroups * 4) return {};
  const auto group = [&](int i) { return i >= 0 && i < groups ? loadBig<uint16_t>(bytes + 8 + i * 2) % 10'000 : 0; };
  if (sign == kNegative) scratch.push('-');
  if (weight < 0) {
    scratch.push('0');
  } else {
    scratch.commit(putInteger(scratch.reserve(kMaxNumberSize), group(0)));
    for (int i = 1; i <= weight; ++i) putDigits(scratch, group(i), 4);
  }
  if (scale > 0) {
    scratch.push('.');
    const size_t point = scratch.size();
    for (int i = weight + 1, shown = 0; shown < scale; ++i, shown += 4) putDigits(scratch, group(i), 4);
    scratch.truncate(point + static_cast<size_t>(scale));
  }
  return textIn(scratch);
}

Value ofFloat4(const char* bytes) {
  const auto bits = loadBig<uint32_t>(bytes);
  float single = 0;
  std::memcpy(&single, &bits, sizeof single);
  if (!std::isfinite(single)) return {};
  // By way of its shortest digits: 0.1 stays 0.1 instead of becoming 0.10000000149011612.
  char digits[kMaxNumberSize];
  const auto end = std::to_chars(digits, digits + sizeof digits, single).ptr;
  double value = 0;
  std::from_chars(digits, end, value);
  return Value::ofReal(value);
}

Value ofFloat8(const char* bytes) {
  const auto bits = loadBig<uint64_t>(bytes);
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return std::isfinite(value) ? Value::ofReal(value) : Value{};
}

}  // namespace

PgKind kindOfType(uint32_t oid) {
  // The oids of built-in types are part of the protocol: they never change (pg_type.dat).
  switch (oid) {
    case 16: return PgKind::Bool;
    case 21: return PgKind::Int2;
    case 23: return PgKind::Int4;
    case 20: return PgKind::Int8;
    case 700: return PgKind::Float4;
    case 701: return PgKind::Float8;
    case 1700: return PgKind::Numeric;
    case 18:    // "char"
    case 19:    // name
    case 25:    // text
    case 705:   // unknown
    case 1042:  // bpchar
    case 1043:  // varchar
      return PgKind::Text;
    case 2950: return PgKind::Uuid;
    case 114: return PgKind::Json;
    case 3802: return PgKind::Jsonb;
    case 1082: return PgKind::Date;
    case 1114: return PgKind::Timestamp;
    case 1184: return PgKind::TimestampTz;
    default: return PgKind::Bytes;
  }
}

Value readPgValue(PgKind kind, const char* bytes, size_t size, ByteBuffer& scratch) {
  if (bytes == nullptr) return {};
  scratch.clear();
  switch (kind) {
    case PgKind::Bool: return size == 1 ? Value::ofBoolean(bytes[0] != 0) : Value{};
    case PgKind::Int2: return size == 2 ? Value::ofInteger(loadBig<int16_t>(bytes)) : Value{};
    case PgKind::Int4: return size == 4 ? Value::ofInteger(loadBig<int32_t>(bytes)) : Value{};
    case PgKind::Int8: return size == 8 ? Value::ofInteger(loadBig<int64_t>(bytes)) : Value{};
    case PgKind::Float4: return size == 4 ? ofFloat4(bytes) : Value{};
    case PgKind::Float8: return size == 8 ? ofFloat8(bytes) : Value{};
    case PgKind::Numeric: return ofNumeric(bytes, size, scratch);
    case PgKind::Text:
    case PgKind::Json: return Value::ofText(bytes, size);
    // A version number precedes the text.
    case PgKind::Jsonb: return size >= 1 ? Value::ofText(bytes + 1, size - 1) : Value{};
    case PgKind::Uuid: return size == 16 ? ofUuid(bytes, scratch) : Value{};
    case PgKind::Date: return size == 4 ? ofDate(loadBig<int32_t>(bytes), scratch) : Value{};
    case PgKind::Timestamp:
    case PgKind::TimestampTz: return size == 8 ? ofTimestamp(loadBig<int64_t>(bytes), scratch) : Value{};
    case PgKind::Bytes: return Value::ofBlob(bytes, size);
  }
  return {};
}

}  // namespace graticule
