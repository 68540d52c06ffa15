// Pairs of geometries of two sets that meet.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../geometry/box_tree.h"
#include "../clipping/spatial_predicate.h"

namespace graticule {

/** The right side of a join: geometries under a tree of their envelopes. */
class SpatialJoin {
 public:
  SpatialJoin(std::shared_ptr<Geos> geos, Predicate predicate) : geos_(std::move(geos)), predicate_(predicate) {}
  /** Joins by distance in metres over the ground: coordinates are longitude and latitude (WGS 84). */
  SpatialJoin(std::shared_ptr<Geos> geos, double metres) : geos_(std::move(geos)), metres_(metres), byDistance_(true) {}

  /** Adds a geometry as WKB or GeoPackage blob, which is copied; geometries are numbered in this order. */
  void add(const uint8_t* blob, size_t size);
  /**
   * Appends the numbers of all matching geometries, in ascending order, to `found`. Returns the number of tested
   * geometries. Call it after the last geometry was added.
   */
  size_t match(const uint8_t* blob, size_t size, std::vector<uint32_t>& found);

 private:
  void build();
  bool matches(SpatialOperand& left, SpatialOperand& right) const;

  std::shared_ptr<Geos> geos_;
  Predicate predicate_ = Predicate::Intersects;
  double metres_ = 0;
  bool byDistance_ = false;
  bool built_ = false;
  std::vector<std::unique_ptr<SpatialOperand>> right_;
  std::vector<bool> met_;
  std::vector<uint32_t> candidates_;
  BoxTree tree_;
};

}  // namespace graticule
