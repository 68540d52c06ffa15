#pragma once

#include <cstddef>
#include <cstdint>

namespace graticule {

/**
 * Passes bytes as geometry, as GeoJSON text and as coordinates through writers, predicates and analytics. Aborts if a
 * result is wrong.
 */
void fuzzGeometry(uint8_t mode, const uint8_t* data, size_t size);

}  // namespace graticule
