// Whether a geometry is stored the way we store it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graticule {

/**
 * Whether GEOS would read and write back a GeoPackage blob byte by byte (OGC 12-128r18, 2.1.3). Such a blob is little
 * endian, with this id and, except for points, the x,y envelope of its positions. It contains ISO WKB without M. All
 * parts are not empty and can be represented by GEOS, and all positions are finite.
 */
bool isPlainBlob(const uint8_t* blob, size_t size, int32_t srsId);

}  // namespace graticule
