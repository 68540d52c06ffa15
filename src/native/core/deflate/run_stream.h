// Compresses predicted samples (zlib, RFC 1950 and 1951).
#pragma once

#include <cstddef>
#include <cstdint>

#include "../values/bytes.h"

namespace graticule {

/**
 * Appends the bytes as one zlib stream. Only runs of one byte are searched. A predictor's output consists of small
 * numbers in any order, in which other repetitions are chance, and of zeros. For noisy samples this results in
 * smaller streams than a fast search for any repetition. Throws std::bad_alloc.
 */
void compressRuns(const uint8_t* bytes, size_t size, ByteBuffer& out);

}  // namespace graticule
