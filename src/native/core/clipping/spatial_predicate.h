// Spatial predicates between two geometries, and their distance: OGC 06-103r4, 6.1.15, computed by GEOS.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "../geometry/geodesic.h"
#include "../geometry/geos.h"
#include "small_relation.h"
#include "../geometry/wkb.h"

namespace graticule {

enum class Predicate : uint8_t { Intersects, Equals, Disjoint, Touches, Within, Overlaps, Crosses, Contains };

/**
 * Geometry as one side of a predicate. Expensive structures (GEOS geometry, prepared geometry, tree of arcs) are
 * created when they are first needed and kept. An operand that meets many other geometries should be reused.
 */
class SpatialOperand {
 public:
  explicit SpatialOperand(std::shared_ptr<Geos> geos) : geos_(std::move(geos)) {}

  /** Reads a GeoPackage blob, WKB or EWKB, which must stay where it is. */
  ReadStatus read(const uint8_t* blob, size_t size);
  /** The same of a copy of the blob. */
  ReadStatus readCopy(const uint8_t* blob, size_t size);

  bool empty() const { return empty_; }
  /**
   * Removes parts that are not finite, which all other functions ignore. False if no part remains of a geometry with
   * such parts.
   */
  bool keepFinite();
  Placed placed() const { return {geometry_, envelope_}; }
  const Box& envelope() const { return envelope_; }
  /** Null if GEOS cannot represent the geometry. */
  const GEOSGeometry* geos();
  const GEOSPreparedGeometry* prepared();
  const SphereGeometry& sphere(double radiansPerUnit);
  GEOSContextHandle_t handle() const { return geos_->handle(); }

  /** Whether the operand meets many other geometries, so that a prepared geometry is worth it. */
  bool lasting = false;

 private:
  std::shared_ptr<Geos> geos_;
  std::unique_ptr<uint8_t[]> copy_;
  Geometry geometry_;
  Box envelope_;
  bool empty_ = true;
  bool pruned_ = false;
  bool somewhere_ = true;
  GeosGeometry made_;
  GeosPrepared prepared_;
  std::unique_ptr<SphereGeometry> sphere_;
};

/**
 * Evaluates the predicate of two planar geometries with the results of PostGIS's ST_* functions. Empty geometries are
 * disjoint from all geometries and equal to each other. Empty if GEOS fails, which happens for invalid geometries.
 */
std::optional<bool> evaluate(Predicate predicate, SpatialOperand& a, SpatialOperand& b);

/** Returns the minimum distance in units of the plane. Empty for empty geometries. */
std::optional<double> planarDistance(SpatialOperand& a, SpatialOperand& b);

}  // namespace graticule
