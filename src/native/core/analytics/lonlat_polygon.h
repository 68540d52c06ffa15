// Polygons on the globe as GeoJSON wants them: cut at the antimeridian, closed at the poles.
#pragma once

#include <vector>

#include "../formats/geojson.h"
#include "../geometry/geos.h"

namespace graticule {

/** Rings of longitude, latitude pairs in degrees, exterior first, the first position not repeated. */
using LonLatRings = std::vector<std::vector<double>>;

/**
 * Returns the polygon within -180 to 180. Each edge takes the shorter way. Parts beyond the antimeridian are split
 * off and moved (RFC 7946, 3.1.9), and a ring around a pole is closed along it. Null if no area remains.
 */
GeosGeometry cutAtAntimeridian(Geos& geos, LonLatRings rings);

/** Appends a GEOS geometry as GeoJSON with 7 decimals; `null` for an empty one. */
void writeGeoJson(Geos& geos, const GEOSGeometry* geometry, ByteBuffer& out);

/**
 * Appends one ring of `n` positions as GeoJSON: a point or a line for one or two positions, otherwise a polygon, cut
 * at the antimeridian.
 */
void writeLonLatRing(Geos& geos, const double* positions, size_t n, ByteBuffer& out);

}  // namespace graticule
