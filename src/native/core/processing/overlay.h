// Geometries of one layer laid over those of another.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../box_tree.h"
#include "../geos.h"

namespace graticule {

/** The right side of an overlay, indexed: first all of its geometries are added. All geometries are in one plane. */
class Overlay {
 public:
  explicit Overlay(std::shared_ptr<Geos> geos) : owner_(std::move(geos)), geos_(*owner_) {}
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;

  /** Takes the next geometry; null for one that there is not. Invalid ones are repaired. */
  void add(GeosGeometry geometry);

  /** The parts of `left` inside of the right geometries together, as large in dimension as itself. */
  GeosGeometry clip(const GEOSGeometry* left);
  /** The parts of `left` outside of all of them. Null, as of clip(), when GEOS fails. */
  GeosGeometry subtract(const GEOSGeometry* left);

  struct Piece {
    uint32_t right;
    GeosGeometry geometry;
  };
  /** What `left` shares with each, where their dimension is as large as the lesser of both; null geometry: GEOS failed. */
  std::vector<Piece> intersect(const GEOSGeometry* left);
  /** `left` with its vertices and segments moved onto vertices of the right ones within a distance. Null when GEOS fails. */
  GeosGeometry snap(const GEOSGeometry* left, double tolerance);

 private:
  void build();
  /** Indices of those whose envelope meets that of a geometry, ascending. */
  std::vector<uint32_t> touching(const Box& window);
  /** Indices of those whose envelope meets that of `left` and that intersect it, ascending. */
  std::vector<uint32_t> meeting(const GEOSGeometry* left);
  const GEOSPreparedGeometry* prepared(uint32_t i);

  std::shared_ptr<Geos> owner_;
  Geos& geos_;
  std::vector<GeosGeometry> right_;
  std::vector<GeosPrepared> prepared_;
  BoxTree tree_;
  bool built_ = false;
};

}  // namespace graticule
