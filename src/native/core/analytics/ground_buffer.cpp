#include "ground_buffer.h"

#include <algorithm>
#include <cmath>

#include "../geometry/wkb.h"

namespace graticule {
namespace {

constexpr double kZoneWidth = 6;
constexpr int kQuadrantSegments = 8;
/** Longest edge in degrees before projecting: a straight edge of longitude and latitude is a curve in the plane. */
constexpr double kDensity = 0.1;

int zoneOf(double longitude) { return static_cast<int>(std::floor(longitude / kZoneWidth)); }

std::string planeOf(int zone) {
  const int meridian = static_cast<int>((zone + 0.5) * kZoneWidth);
  return "+proj=tmerc +lat_0=0 +lon_0=" + std::to_string(meridian) + " +k=1 +datum=WGS84 +units=m +no_defs +type=crs";
}

}  // namespace

void GroundBuffers::add(const Geometry& lonLat) {
  const Box box = envelopeOf(lonLat);
  const GeosGeometry whole = box.valid() ? geos_.read(lonLat) : geos_.own(nullptr);
  if (whole == nullptr) return;
  if (metres_ == 0) {
    // A buffer of 0 preserves only areas; lines and points disappear.
    GeosGeometry area = geos_.own(GEOSBuffer_r(geos_.handle(), whole.get(), 0, kQuadrantSegments));
    if (area != nullptr && GEOSisEmpty_r(geos_.handle(), area.get()) == 0) parts_.push_back(std::move(area));
    return;
  }
  if (box.maxX - box.minX <= kZoneWidth) return addZone(whole.get(), zoneOf((box.minX + box.maxX) / 2));
  for (int zone = zoneOf(box.minX); zone <= zoneOf(box.maxX); ++zone) {
    const double west = zone * kZoneWidth;
    const GeosGeometry part = geos_.own(GEOSClipByRect_r(geos_.handle(), whole.get(), west, -90, west + kZoneWidth, 90));
    if (part != nullptr && GEOSisEmpty_r(geos_.handle(), part.get()) == 0) addZone(part.get(), zone);
  }
}

void GroundBuffers::addZone(const GEOSGeometry* lonLat, int zone) {
  std::string error;
  const std::string plane = planeOf(zone);
  const auto toPlane = reprojectors_.find("OGC:CRS84", plane, error);
  const auto toLonLat = reprojectors_.find(plane, "OGC:CRS84", error);
  const GeosGeometry dense = geos_.own(GEOSDensify_r(geos_.handle(), lonLat, kDensity));
  wkb_.clear();
  if (toPlane == nullptr || toLonLat == nullptr || dense == nullptr || !geos_.write(dense.get(), wkb_)) return;
  if (readWkb(wkb_.data(), wkb_.size(), piece_) != ReadStatus::Ok || !projected_.project(piece_, *toPlane)) return;
  const GeosGeometry planar = geos_.read(projected_.geometry());
  if (planar == nullptr) return;
  const GeosGeometry buffer = geos_.own(GEOSBuffer_r(geos_.handle(), planar.get(), metres_, kQuadrantSegments));
  if (buffer != nullptr) addPolygons(buffer.get(), *toLonLat);
}

void GroundBuffers::addPolygons(const GEOSGeometry* planar, const Reprojector& toLonLat) {
  const int n = GEOSGetNumGeometries_r(geos_.handle(), planar);
  for (int i = 0; i < n; ++i) addPolygon(GEOSGetGeometryN_r(geos_.handle(), planar, i), toLonLat);
}

void GroundBuffers::addPolygon(const GEOSGeometry* polygon, const Reprojector& toLonLat) {
  if (GEOSGeomTypeId_r(geos_.handle(), polygon) != GEOS_POLYGON || GEOSisEmpty_r(geos_.handle(), polygon) != 0) return;
  const int holes = GEOSGetNumInteriorRings_r(geos_.handle(), polygon);
  LonLatRings rings(1);
  if (!readRing(GEOSGetExteriorRing_r(geos_.handle(), polygon), toLonLat, rings[0])) return;
  for (int i = 0; i < holes; ++i) {
    std::vector<double> hole;
    if (readRing(GEOSGetInteriorRingN_r(geos_.handle(), polygon, i), toLonLat, hole)) rings.push_back(std::move(hole));
  }
  GeosGeometry part = cutAtAntimeridian(geos_, std::move(rings));
  if (part != nullptr) parts_.push_back(std::move(part));
}

bool GroundBuffers::readRing(const GEOSGeometry* ring, const Reprojector& toLonLat, std::vector<double>& positions) {
  const GEOSCoordSequence* sequence = GEOSGeom_getCoordSeq_r(geos_.handle(), ring);
  unsigned n = 0;
  if (sequence == nullptr || GEOSCoordSeq_getSize_r(geos_.handle(), sequence, &n) == 0 || n < 4) return false;
  positions.resize(2 * size_t{n});
  if (GEOSCoordSeq_copyToBuffer_r(geos_.handle(), sequence, positions.data(), 0, 0) == 0) return false;
  positions.resize(2 * size_t{n} - 2);
  toLonLat.transform(positions.data(), n - 1);
  return std::all_of(positions.begin(), positions.end(), [](double v) { return std::isfinite(v); });
}

GeosGeometry GroundBuffers::unite() {
  if (parts_.empty()) return geos_.own(nullptr);
  std::vector<GEOSGeometry*> members;
  for (GeosGeometry& part : parts_) members.push_back(part.release());
  parts_.clear();
  const GeosGeometry all = geos_.own(GEOSGeom_createCollection_r(
      geos_.handle(), GEOS_GEOMETRYCOLLECTION, members.data(), static_cast<unsigned>(members.size())));
  if (all == nullptr) return geos_.own(nullptr);
  GeosGeometry whole = geos_.own(GEOSUnaryUnion_r(geos_.handle(), all.get()));
  if (whole != nullptr) return whole;
  // Rounding in longitude and latitude can bring edges to cross.
  const GeosGeometry valid = geos_.own(GEOSMakeValid_r(geos_.handle(), all.get()));
  return geos_.own(valid == nullptr ? nullptr : GEOSUnaryUnion_r(geos_.handle(), valid.get()));
}

}  // namespace graticule
