// Writes well-known binary: ISO (OGC 06-103r4), little endian, and GeoPackage blobs around it.
#pragma once

#include <cstdint>

#include "../values/bytes.h"
#include "geometry.h"

namespace graticule {

/**
 * Appends the geometry as WKB. Z and M are written if any position has them; missing values are NaN. An empty point
 * is written with NaN ordinates, like in GeoPackage and PostGIS.
 */
void writeWkb(const Geometry& geometry, ByteBuffer& out);

/**
 * Appends the geometry as GeoPackage blob (OGC 12-128r18, 2.1.3): little endian, an x,y envelope unless it is a point,
 * the empty flag where it applies.
 */
void writeGeoPackageBlob(const Geometry& geometry, int32_t srsId, ByteBuffer& out);

}  // namespace graticule
