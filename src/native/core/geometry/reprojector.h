// Coordinates from one CRS to another, in batches. Always x,y ordered: easting or longitude first.
#pragma once

#include <proj.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "geometry.h"

namespace graticule {

/** Latitude where Web Mercator's square world ends. */
constexpr double kMercatorMaxLatitude = 85.0511287798066;
/** Its northing there. */
constexpr double kMercatorMaxNorthing = 3.14159265358979323846 * 6378137.0;

/**
 * Transformation between two CRSs. WGS 84 longitude/latitude and Web Mercator are computed in closed form, all other
 * CRSs by PROJ. Only one thread can use it at a time.
 */
class Reprojector {
 public:
  enum class Kind : uint8_t { Identity, LonLatToMercator, MercatorToLonLat, Proj };

  Reprojector(Kind kind, std::shared_ptr<PJ_CONTEXT> context, PJ* pj, bool fromGeographic, bool toMercator)
      : kind_(kind),
        context_(std::move(context)),
        pj_(pj),
        clampLatitude_(fromGeographic && toMercator),
        clampNorthing_(toMercator) {}
  ~Reprojector();
  Reprojector(const Reprojector&) = delete;
  Reprojector& operator=(const Reprojector&) = delete;

  bool identity() const { return kind_ == Kind::Identity; }

  /** True when northings beyond the square world of Web Mercator are clamped to its border. */
  bool clampsNorthing() const { return kind_ == Kind::LonLatToMercator || clampNorthing_; }

  /** True when latitudes beyond the square world of Web Mercator are clamped on the way. */
  bool clampsLatitude() const { return kind_ == Kind::LonLatToMercator || clampLatitude_; }

  /**
   * Transforms `n` x,y pairs in place. Latitudes beyond the square world are clamped for Web Mercator. A position
   * that cannot be projected becomes HUGE_VAL, HUGE_VAL.
   */
  void transform(double* xy, size_t n) const;

  /**
   * Returns the box that contains the image of a box, whose edges are densified with 21 points. False if it cannot be
   * projected. In a geographic result, minX > maxX means that it crosses the antimeridian.
   */
  bool transformBox(const Box& from, Box& to) const;

  /**
   * Returns the box of all positions whose image is in `to`, if that is exact and fast: only for closed forms, in
   * which x and y are independent. Otherwise false.
   */
  bool originBox(const Box& to, Box& from) const;

 private:
  Kind kind_;
  /** Kept alive, because a PJ must not outlive its context. */
  std::shared_ptr<PJ_CONTEXT> context_;
  PJ* pj_;
  bool clampLatitude_;
  bool clampNorthing_;
};

/**
 * Makes reprojectors and keeps the latest of them. One per thread or database connection: PROJ contexts must not
 * be shared. PROJ's network access is off.
 */
class ReprojectorCache {
 public:
  ReprojectorCache() = default;
  ReprojectorCache(const ReprojectorCache&) = delete;
  ReprojectorCache& operator=(const ReprojectorCache&) = delete;

  /**
   * Returns a reprojector. Null, and a sentence in `error`, if a CRS is unknown or there is no transformation between
   * the two.
   */
  std::shared_ptr<const Reprojector> find(std::string_view from, std::string_view to, std::string& error);

  /** PROJ context, created at the first use. Throws std::bad_alloc. */
  PJ_CONTEXT* context();

 private:
  struct Entry {
    std::string from;
    std::string to;
    std::shared_ptr<const Reprojector> reprojector;
  };

  std::shared_ptr<const Reprojector> make(const std::string& from, const std::string& to, std::string& error);

  std::shared_ptr<PJ_CONTEXT> context_;
  /** Latest first. */
  std::vector<Entry> entries_;
};

/** Creates a CRS from anything PROJ reads; null, and a sentence in `error`, when the text names none. */
PJ* createCrs(PJ_CONTEXT* context, const std::string& text, std::string& error);

}  // namespace graticule
