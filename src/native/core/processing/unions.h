// Many geometries as one.
#pragma once

#include <limits>
#include <vector>

#include "../geometry/geos.h"

namespace graticule {

/** The union of parts, which are taken over; an empty collection of none. Null when GEOS fails. */
GeosGeometry uniteParts(Geos& geos, std::vector<GEOSGeometry*>& parts);

/**
 * A union that grows: what is added is united in runs of neighbours, and these with each other, so that no more than the
 * result and a few runs are in memory. Fastest when neighbours follow each other.
 */
class GrowingUnion {
 public:
  explicit GrowingUnion(Geos& geos) : geos_(geos) {}
  ~GrowingUnion();
  GrowingUnion(const GrowingUnion&) = delete;
  GrowingUnion& operator=(const GrowingUnion&) = delete;

  /** False when GEOS fails, even with the geometries repaired. */
  bool add(GeosGeometry geometry);
  /** The union of all that was added, and starts over; null when GEOS fails. */
  GeosGeometry take();

 private:
  bool fold();
  /**
   * The union of parts, which are taken over: by dropping shared edges as long as that is one, else as any others.
   * Dissolving 100,000 parcels takes a fifth of the time (bench processes). The union of disjoint subsets of GEOS needs
   * 3.12; Debian 12 has 3.11.
   */
  GeosGeometry unite(std::vector<GEOSGeometry*>& parts);

  Geos& geos_;
  std::vector<GEOSGeometry*> run_;
  size_t vertices_ = 0;
  /** All so far are areas that are apart or share whole edges. */
  bool coverage_ = true;
  /** The area of the smallest polygon of all so far, while they are areas. */
  double least_ = std::numeric_limits<double>::infinity();
  /** Unions of runs; each stands for twice as many runs as the next, or more. */
  struct Level {
    GeosGeometry geometry;
    size_t runs;
  };
  std::vector<Level> levels_;
};

}  // namespace graticule
