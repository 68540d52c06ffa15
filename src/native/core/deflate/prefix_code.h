// Prefix codes of DEFLATE (RFC 1951, 3.2.2): Huffman lengths with an upper bound, and the codes that follow from them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graticule {

constexpr size_t kMaxSymbols = 288;

/**
 * Bits of each symbol's code in the best code of at most `limit` bits (near enough the best where the limit is met).
 * Symbols that do not occur have 0 bits. At most `kMaxSymbols` symbols, of which two or more occur.
 */
void codeLengths(const uint32_t* occurrences, size_t symbols, uint32_t limit, uint8_t* lengths);

/** Writes the codes of these lengths in their output form, with the first bit lowest. */
void codesOf(const uint8_t* lengths, size_t symbols, uint16_t* codes);

}  // namespace graticule
