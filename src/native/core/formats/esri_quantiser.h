// Positions as integers under a transform, as GeoServices define them: with quantizationParameters, and always with
// f=pbf.
#pragma once

#include <cstdint>
#include <vector>

#include "feature_options.h"
#include "../geometry/geometry.h"
#include "../geometry/reprojector.h"

namespace graticule {

/**
 * Converts geometries to parts of integers. The first position of each part is relative to the origin, and each
 * further position is relative to the previous one. Exterior rings run clockwise, holes counterclockwise; rings are
 * closed. Parts with positions that are not finite, cannot be projected to the target CRS, or are more than 2^53
 * steps away, are omitted. In view mode, invisible parts are also omitted: lines of one position, rings without an
 * area.
 */
class EsriQuantiser {
 public:
  /** The reprojector must outlive the use of this; null: none is needed. */
  void begin(const FeatureOptions& options, const Reprojector* reprojector);
  /** Quantises a geometry. With `z` each position has a height; missing heights are 0. False if no part remains. */
  bool quantise(const Geometry& geometry, bool z);
  /** Quantises only the centroid, without a height. False if there is none. */
  bool quantiseCentroid(const Geometry& geometry);

  /** Positions of each part; one of 1 for a point. Several points are one part. */
  const std::vector<uint32_t>& lengths() const { return lengths_; }
  /** Numbers of all parts, `dimension()` per position. */
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
  /** Positions of one sequence, relative to the origin. */
  std::vector<int64_t> corners_;
  int64_t previous_[3] = {0, 0, 0};
  std::vector<uint32_t> lengths_;
  std::vector<int64_t> numbers_;
};

}  // namespace graticule
