// Positions as whole numbers under a transform, as GeoServices take them: quantizationParameters, and f=pbf always.
#pragma once

#include <cstdint>
#include <vector>

#include "feature_options.h"
#include "../geometry/geometry.h"
#include "../geometry/reprojector.h"

namespace graticule {

/**
 * Turns geometries into parts of whole numbers. The first position of each part is counted from the origin, each further
 * one from the one before it. Exterior rings run clockwise, holes counterclockwise; rings are closed. Parts with positions
 * that are no numbers, have no image in the target CRS, or lie more than 2^53 steps away, are left out; those of a view
 * also where nothing is left to see of them: lines of one position, rings without an area.
 */
class EsriQuantiser {
 public:
  /** The reprojector must outlive the use of this; null: none is needed. */
  void begin(const FeatureOptions& options, const Reprojector* reprojector);
  /** With `z` each position has a height, 0 where it is missing. False when nothing is left. */
  bool quantise(const Geometry& geometry, bool z);
  /** The centroid alone, without a height. False where there is none. */
  bool quantiseCentroid(const Geometry& geometry);

  /** Positions of each part; one of 1 for a point. Several points are one part. */
  const std::vector<uint32_t>& lengths() const { return lengths_; }
  /** Of all parts, `dimension()` of each position. */
  const std::vector<int64_t>& numbers() const { return numbers_; }
  size_t dimension() const { return dimension_; }

 private:
  bool load(const Sequence& sequence);
  bool snap(size_t n);
  bool isSame(size_t a, size_t b) const;
  void dropRepeats(bool closed);
  double doubleArea() const;
  void addPoints(const Geometry& geometry);
  void addLine(const Sequence& sequence);
  void addPolygon(const Geometry& geometry, const Node& node);
  bool addRing(const Sequence& sequence, bool exterior);
  void put(size_t corner);
  size_t corners() const { return corners_.size() / dimension_; }

  FeatureOptions::Quantisation options_;
  OutputPositions positions_;
  size_t dimension_ = 2;
  bool degrees_ = false;
  /** Of one sequence, counted from the origin. */
  std::vector<int64_t> corners_;
  int64_t previous_[3] = {0, 0, 0};
  std::vector<uint32_t> lengths_;
  std::vector<int64_t> numbers_;
};

}  // namespace graticule
