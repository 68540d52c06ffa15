#include "lonlat_polygon.h"

#include <algorithm>
#include <cmath>

#include "../geometry/wkb.h"

namespace graticule {
namespace {

/** The longitude nearest to `near` that means the same. */
double beside(double longitude, double near) { return longitude - 360 * std::round((longitude - near) / 360); }

/** Makes longitudes run on over the antimeridian; a ring around a pole gets two corners at it. */
void unwrap(std::vector<double>& ring, double near) {
  for (size_t i = 0; i < ring.size(); i += 2) {
    ring[i] = beside(ring[i], near);
    near = ring[i];
  }
  const double again = beside(ring[0], near);
  if (again == ring[0]) return;
  double latitudes = 0;
  for (size_t i = 1; i < ring.size(); i += 2) latitudes += ring[i];
  const double pole = latitudes < 0 ? -90 : 90;
  ring.insert(ring.end(), {again, ring[1], again, pole, ring[0], pole});
}

Geometry polygonOf(LonLatRings& rings) {
  Geometry geometry;
  geometry.nodes.push_back({GeometryType::Polygon, 0, 0, static_cast<uint32_t>(rings.size())});
  for (std::vector<double>& ring : rings) {
    ring.insert(ring.end(), {ring[0], ring[1]});
    const auto* bytes = reinterpret_cast<const uint8_t*>(ring.data());
    geometry.sequences.push_back({bytes, static_cast<uint32_t>(ring.size() / 2), 16, false});
  }
  return geometry;
}

bool within(const std::vector<double>& ring) {
  for (size_t i = 0; i < ring.size(); i += 2) {
    if (ring[i] < -180 || ring[i] > 180) return false;
  }
  return true;
}

int moveX(double* x, double*, void* by) {
  *x += *static_cast<double*>(by);
  return 1;
}

/** The part of a geometry between two meridians, moved by `by` degrees; null when there is none. */
GeosGeometry slice(Geos& geos, const GEOSGeometry* geometry, double west, double by) {
  const GeosGeometry part = geos.own(GEOSClipByRect_r(geos.handle(), geometry, west, -90, west + 360, 90));
  if (part == nullptr || GEOSisEmpty_r(geos.handle(), part.get()) != 0) return geos.own(nullptr);
  return geos.own(GEOSGeom_transformXY_r(geos.handle(), part.get(), moveX, &by));
}

GeosGeometry united(Geos& geos, GeosGeometry a, GeosGeometry b) {
  if (a == nullptr) return b;
  if (b == nullptr) return a;
  return geos.own(GEOSUnion_r(geos.handle(), a.get(), b.get()));
}

}  // namespace

GeosGeometry cutAtAntimeridian(Geos& geos, LonLatRings rings) {
  if (rings.empty() || rings[0].size() < 6) return geos.own(nullptr);
  unwrap(rings[0], rings[0][0]);
  for (size_t i = 1; i < rings.size(); ++i) unwrap(rings[i], rings[0][0]);
  const bool whole = within(rings[0]);
  GeosGeometry polygon = geos.read(polygonOf(rings));
  if (polygon == nullptr || whole) return polygon;
  GeosGeometry result = slice(geos, polygon.get(), -180, 0);
  result = united(geos, std::move(result), slice(geos, polygon.get(), 180, -360));
  return united(geos, std::move(result), slice(geos, polygon.get(), -540, 360));
}

void writeGeoJson(Geos& geos, const GEOSGeometry* geometry, ByteBuffer& out) {
  ByteBuffer wkb;
  Geometry read;
  if (geometry == nullptr || GEOSisEmpty_r(geos.handle(), geometry) != 0 || !geos.write(geometry, wkb) ||
      readWkb(wkb.data(), wkb.size(), read) != ReadStatus::Ok) {
    return out.appendLiteral("null");
  }
  GeoJsonGeometryWriter writer;
  writer.begin({}, nullptr);
  writer.write(read, out);
}

void writeLonLatRing(Geos& geos, const double* positions, size_t n, ByteBuffer& out) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(positions);
  if (n < 3) {
    Geometry simple;
    simple.nodes.push_back({n == 1 ? GeometryType::Point : GeometryType::LineString, 0, 0, n == 0 ? 0u : 1u});
    simple.sequences.push_back({bytes, static_cast<uint32_t>(n), 16, false});
    GeoJsonGeometryWriter writer;
    writer.begin({}, nullptr);
    return writer.write(simple, out);
  }
  LonLatRings rings(1, std::vector<double>(positions, positions + 2 * n));
  double low = rings[0][0];
  double high = low;
  for (size_t i = 0; i < 2 * n; i += 2) {
    low = std::min(low, positions[i]);
    high = std::max(high, positions[i]);
  }
  if (high - low > 180 || low < -180 || high > 180) {
    return writeGeoJson(geos, cutAtAntimeridian(geos, std::move(rings)).get(), out);
  }
  GeoJsonGeometryWriter writer;
  writer.begin({}, nullptr);
  writer.write(polygonOf(rings), out);
}

}  // namespace graticule
