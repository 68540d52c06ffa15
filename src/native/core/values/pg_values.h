// Values as PostgreSQL sends them in binary.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes.h"
#include "value.h"

namespace graticule {

/** Interpretation of a column's bytes. */
enum class PgKind : uint8_t {
  Bool,
  Int2,
  Int4,
  Int8,
  Float4,
  Float8,
  Numeric,
  Text,
  Uuid,
  Json,
  Jsonb,
  Date,
  Timestamp,
  TimestampTz,
  Bytes,
};

/** Returns the kind of a column by the oid of its type. Types that only the server can convert to text are bytes. */
PgKind kindOfType(uint32_t oid);

/**
 * Reads one value; `bytes` is null for NULL. Dates and times become ISO 8601 text (timestamps in UTC, with Z; without
 * a zone UTC is assumed). uuid and numeric become text, and infinities and malformed values become null. Converted
 * text is in `scratch`, other values point into `bytes`.
 */
Value readPgValue(PgKind kind, const char* bytes, size_t size, ByteBuffer& scratch);

}  // namespace graticule
