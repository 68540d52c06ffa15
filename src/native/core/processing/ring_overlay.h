// Common part of two areas of few positions, computed without GEOS.
#pragma once

#include <optional>
#include <vector>

#include "../values/bytes.h"
#include "../geometry/orientation.h"

namespace graticule {

/** A ring that does not meet itself, counterclockwise, its first position not repeated. */
using Ring = std::vector<Position>;

/** The shell of an area. */
struct Shell {
  Ring ring;
  /** Its positions came in the other order. */
  bool reversed;
};

/**
 * Returns the shell of one valid polygon of few positions without holes and without Z. Empty for other geometries.
 */
std::optional<Shell> shellOf(GEOSContextHandle_t handle, const Geometry& geometry);

enum class Shared : uint8_t {
  Nothing,
  /** The first, the second, lies within the other. */
  First,
  Second,
  Rings,
  /** The areas touch, or nearly do, so doubles cannot determine the common part. */
  Unsure,
};

/** Returns the common part of two areas. It is appended to `rings` if it equals neither area. */
Shared sharedBy(GEOSContextHandle_t handle, const Ring& first, const Ring& second, std::vector<Ring>& rings);

/** Appends disjoint areas as a GeoPackage blob (OGC 12-128r18, 2.1.3), clockwise like in GEOS. */
void writeRings(const std::vector<Ring>& rings, int32_t srsId, ByteBuffer& out);

}  // namespace graticule
