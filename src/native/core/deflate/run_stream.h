// Compresses predicted samples (zlib, RFC 1950 and 1951).
#pragma once

#include <cstddef>
#include <cstdint>

#include "../values/bytes.h"

namespace graticule {

/**
 * Appends the bytes as one zlib stream. Only runs of one byte are sought: what a predictor leaves of samples is small
 * numbers in any order, among which other repetitions are chance, and zeros. Of noisy samples that makes smaller
 * streams than seeking any repetition with little effort. Throws std::bad_alloc.
 */
void compressRuns(const uint8_t* bytes, size_t size, ByteBuffer& out);

}  // namespace graticule
