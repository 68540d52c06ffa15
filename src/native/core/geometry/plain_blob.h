// Whether a geometry is stored the way we store it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graticule {

/**
 * True for a GeoPackage blob that GEOS would read and write back byte by byte (OGC 12-128r18, 2.1.3): little endian, with
 * this id, the x,y envelope of its positions but for points, and ISO WKB without M of parts that GEOS can hold, none of
 * them empty, all positions finite.
 */
bool isPlainBlob(const uint8_t* blob, size_t size, int32_t srsId);

}  // namespace graticule
