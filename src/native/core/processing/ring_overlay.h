// What two areas of few positions share, without GEOS.
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

/** The shell of a geometry that is one valid polygon of few positions without holes and without Z; nothing for others. */
std::optional<Shell> shellOf(GEOSContextHandle_t handle, const Geometry& geometry);

enum class Shared : uint8_t {
  Nothing,
  /** The first, the second, lies within the other. */
  First,
  Second,
  Rings,
  /** They touch, or nearly do: doubles do not tell what they share. */
  Unsure,
};

/** What two areas share; appended to `rings` where it is neither of both. */
Shared sharedBy(GEOSContextHandle_t handle, const Ring& first, const Ring& second, std::vector<Ring>& rings);

/** Appends areas that are apart from each other as GeoPackage blob (OGC 12-128r18, 2.1.3), clockwise as those of GEOS. */
void writeRings(const std::vector<Ring>& rings, int32_t srsId, ByteBuffer& out);

}  // namespace graticule
