#pragma once

#include <cstddef>
#include <cstdint>

namespace graticule {

/** Bytes as geometry, as GeoJSON text and as coordinates, through writers, predicates and analytics; aborts on a wrong answer. */
void fuzzGeometry(uint8_t mode, const uint8_t* data, size_t size);

}  // namespace graticule
