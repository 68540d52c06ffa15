// Values as PostgreSQL sends them in binary.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes.h"
#include "value.h"

namespace graticule {

/** How the bytes of a column are read. */
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

/** The kind of a column by the oid of its type. Types that the server alone can spell out are bytes. */
PgKind kindOfType(uint32_t oid);

/**
 * Reads one value; `bytes` is null for NULL. Dates and times become ISO 8601 text (timestamps in UTC, with Z; without a
 * zone they are taken for UTC), uuid and numeric become text, infinities and what is malformed become null. Text that
 * has to be made lies in `scratch`, the rest points into `bytes`.
 */
Value readPgValue(PgKind kind, const char* bytes, size_t size, ByteBuffer& scratch);

}  // namespace graticule
