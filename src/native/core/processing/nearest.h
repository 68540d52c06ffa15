// The nearest geometries of one set to each of another.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../geometry/box_tree.h"
#include "../clipping/spatial_predicate.h"

namespace graticule {

/** Distances in units of the plane; or metres over the ground, between longitudes and latitudes (WGS 84). */
enum class Surface : uint8_t { Plane, Ground };

/** Returns the minimum distance. Empty for empty geometries, and if GEOS fails. */
std::optional<double> distanceBetween(Surface surface, SpatialOperand& a, SpatialOperand& b);

/** Geometries in a tree of their envelopes, for nearest searches. */
class NearestSearch {
 public:
  NearestSearch(std::shared_ptr<Geos> geos, Surface surface) : geos_(std::move(geos)), surface_(surface) {}

  /** Adds a geometry as WKB or GeoPackage blob, which is copied; geometries are numbered in this order. */
  void add(const uint8_t* blob, size_t size);

  struct Neighbour {
    uint32_t index;
    double distance;
  };
  /**
   * Returns the `count` nearest geometries within `reach`, nearest first; at the same distance, in the order of their
   * addition. Call it after the last geometry was added.
   */
  std::vector<Neighbour> search(const uint8_t* blob, size_t size, uint32_t count, double reach);

 private:
  void build();
  std::vector<uint32_t> within(const Box& box, double radius) const;
  double farthest(const Box& box) const;
  std::optional<double> measure(SpatialOperand& from, uint32_t i);
  std::vector<Neighbour> allWithin(SpatialOperand& from, double radius, double reach);
  std::vector<Neighbour> inPlane(SpatialOperand& from, uint32_t count, double reach);
  std::vector<Neighbour> onGround(SpatialOperand& from, uint32_t count, double reach);

  std::shared_ptr<Geos> geos_;
  Surface surface_;
  std::vector<std::unique_ptr<SpatialOperand>> all_;
  /** Last search that visited each geometry. Searches are counted from 1. */
  std::vector<uint32_t> turns_;
  uint32_t turn_ = 0;
  /** Radius of the last search, because neighbours have similar radiuses. */
  double radius_ = 0;
  bool built_ = false;
  BoxTree tree_;
};

}  // namespace graticule
