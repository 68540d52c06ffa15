// Chunks of a PNG image (W3C PNG, third edition, 5.3).
#pragma once

#include "../values/bytes.h"

namespace graticule {

/** Colour types (W3C PNG, 6.1). */
enum class PngColor : uint8_t { kGrey = 0, kRgb = 2, kPalette = 3, kGreyAlpha = 4, kRgba = 6 };

/** Starts a chunk; returns its start. Throws std::bad_alloc, as all functions here do. */
size_t beginChunk(const char (&type)[5], ByteBuffer& out);

/** Writes length and checksum of the chunk that starts at `at`. */
void endChunk(size_t at, ByteBuffer& out);

void putChunk(const char (&type)[5], const uint8_t* data, size_t size, ByteBuffer& out);

/** The signature and the head of an image of 8 bits a channel. */
void beginPng(uint32_t width, uint32_t height, PngColor color, ByteBuffer& out);

void endPng(ByteBuffer& out);

}  // namespace graticule
