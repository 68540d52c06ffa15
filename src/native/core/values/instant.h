// Instants as text: `YYYY-MM-DD[T ]HH:MM:SS[.ffffff][Z|+HH:MM]`, in UTC if there is no zone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "value.h"

namespace graticule {

/** Reads an instant as microseconds since 1970. Further digits are truncated. */
bool readMicroseconds(const char* text, size_t size, int64_t& microseconds);

/** Reads an instant as milliseconds since 1970. Further digits are truncated. */
bool readInstant(const char* text, size_t size, int64_t& milliseconds);

/** Reads `YYYY-MM-DD` as milliseconds from 1970 to the start of the day in UTC. */
bool readDay(const char* text, size_t size, int64_t& milliseconds);

/** Reads the text of a field of dates or instants; false for other types and texts. */
bool readTime(FieldType type, const Value& value, int64_t& milliseconds);

/** Bytes of an instant as text. */
constexpr size_t kInstantSize = 26;

/** Writes `YYYY-MM-DDTHH:MM:SS.ffffff` in UTC; returns the bytes written: 0 for years that have no four digits. */
size_t putMicroseconds(char* out, int64_t microseconds);

}  // namespace graticule
