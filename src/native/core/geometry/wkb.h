// Reads well-known binary: ISO (OGC 06-103r4) and the EWKB of PostGIS, and the blobs of GeoPackage around it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "geometry.h"

namespace graticule {

/** Result of reading a blob; describe() returns it as text. */
enum class ReadStatus : uint8_t {
  Ok,
  Truncated,
  BadByteOrder,
  UnknownType,
  BadMember,
  BadArc,
  TooManyPositions,
  TooDeep,
  BadMagic,
  BadVersion,
  BadEnvelope,
  ExtendedType,
};

/** A sentence for people; null for Ok. */
const char* describe(ReadStatus status);

/** GeoPackage header (OGC 12-128r18, 2.1.3), or its equivalent for bare WKB. */
struct BlobHeader {
  /** Offset of the WKB. */
  size_t wkbOffset = 0;
  int32_t srsId = 0;
  bool empty = false;
  /** True when `envelope` comes from the header. */
  bool hasEnvelope = false;
  Box envelope;
};

/** Reads the header of a GeoPackage blob; bare WKB and EWKB pass with an empty header. */
ReadStatus readHeader(const uint8_t* blob, size_t size, BlobHeader& header);

/**
 * Reads WKB or EWKB: both byte orders, Z, M and ZM, nesting to a depth of 32. Curves become lines (see arcs.h), and
 * surfaces of polygons or triangles become multi polygons; `Geometry::lost` contains the losses. Every count is
 * checked against the remaining bytes before memory is allocated for it. The geometry points into `wkb`.
 */
ReadStatus readWkb(const uint8_t* wkb, size_t size, Geometry& geometry);

/** readHeader() and readWkb() in one. */
ReadStatus readBlob(const uint8_t* blob, size_t size, BlobHeader& header, Geometry& geometry);

/**
 * Reads the envelope of a blob: from its header if that has one, otherwise from its positions. Invalid if the
 * geometry is empty.
 */
ReadStatus readEnvelope(const uint8_t* blob, size_t size, Geometry& scratch, Box& box);

}  // namespace graticule
