// Overlay of the geometries of two layers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../geometry/box_tree.h"
#include "../geometry/geos.h"
#include "ring_overlay.h"

namespace graticule {

/** The right side of an overlay, indexed: first all of its geometries are added. All geometries are in one plane. */
class Overlay {
 public:
  explicit Overlay(std::shared_ptr<Geos> geos) : owner_(std::move(geos)), geos_(*owner_) {}
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;

  /**
   * Adds the next geometry, which can be empty. Invalid geometries are repaired. If GEOS fails, returns false with
   * the reason, and the geometry counts as empty.
   */
  bool add(const Geometry& geometry);

  /** The parts of `left` inside of the right geometries together, as large in dimension as itself. */
  GeosGeometry clip(const GEOSGeometry* left);
  /** The parts of `left` outside of all of them. Null, as of clip(), when GEOS fails. */
  GeosGeometry subtract(const GEOSGeometry* left);

  struct Piece {
    uint32_t right;
    /** All of the left geometry, which is valid. */
    bool isLeft;
    /** Else areas, where there are some, or a geometry of GEOS, null where it failed. */
    std::vector<Ring> rings;
    GeosGeometry geometry;
  };
  /**
   * Returns the common part of `left` and each right geometry, if it has the lower dimension of the two. False if
   * GEOS cannot represent `left`, with the reason.
   */
  bool intersect(const Geometry& left, std::vector<Piece>& pieces);
  /** `left` with its vertices and segments moved onto vertices of the right ones within a distance. Null when GEOS fails. */
  GeosGeometry snap(const GEOSGeometry* left, double tolerance);

 private:
  void build();
  /** Returns the indices of the geometries whose envelope meets the window, ascending. */
  std::vector<uint32_t> touching(const Box& window);
  /** Returns the indices of the geometries that intersect `left`, ascending. Envelopes are compared first. */
  std::vector<uint32_t> meeting(const GEOSGeometry* left);
  /** `isValid`: the left geometry was valid without repair. */
  void intersectByGeos(const GEOSGeometry* left, bool isValid, uint32_t i, std::vector<Piece>& pieces);
  const GEOSGeometry* right(uint32_t i);
  const GEOSPreparedGeometry* prepared(uint32_t i);

  /** Right geometry: a shell, or a GEOS geometry, to which a shell is converted on demand. */
  struct Right {
    std::optional<Shell> shell;
    GeosGeometry geometry;
    GeosPrepared prepared;
  };

  std::shared_ptr<Geos> owner_;
  Geos& geos_;
  std::vector<Right> right_;
  BoxTree tree_;
  bool built_ = false;
};

}  // namespace graticule
