// Streams of a MapLibre Tile: integers in the shortest encoding, and bits (MapLibre Tile Specification, "Integer
// Encodings", "Boolean-RLE").
#pragma once

#include <cstdint>
#include <vector>

#include "../values/bytes.h"

namespace graticule::mlt {

/** Type of a stream: the first byte of its metadata. */
enum class StreamType : uint8_t {
  Present = 0x00,
  Data = 0x10,
  DictionaryData = 0x11,
  SharedDictionaryData = 0x12,
  VertexData = 0x13,
  VertexOffset = 0x20,
  StringOffset = 0x22,
  VarBinaryLength = 0x30,
  GeometriesLength = 0x31,
  PartsLength = 0x32,
  RingsLength = 0x33,
  DictionaryLength = 0x36,
};

/** Writes a stream whose data are `size` bytes of plain values, such as text or floating point numbers. */
void writePlain(ByteBuffer& out, StreamType type, uint32_t count, const void* data, size_t size);

/** Writes `count` bits, starting with the least significant bit of the first byte. */
void writeBits(ByteBuffer& out, StreamType type, const std::vector<uint8_t>& bits, uint32_t count);

/** Writes vertices whose differences, by component, are already varints. `count` is the number of numbers. */
void writeVertices(ByteBuffer& out, uint32_t count, const ByteBuffer& varints);

/** Differences between integers, in zigzag order, as runs. */
struct Runs {
  std::vector<uint32_t> lengths;
  std::vector<uint32_t> values;
  /** Numbers altogether, and bytes of the runs. */
  uint64_t count = 0;
  size_t bytes = 0;

  void clear();
  void add(uint32_t difference, uint32_t length);
};

void writeDeltaRuns(ByteBuffer& out, StreamType type, const Runs& runs);

/** Returns the bytes of an integer stream's data, as it would be written. */
size_t sizeOfIntegers(const std::vector<uint32_t>& values);

/** Writes integers plain, as differences, as runs or as runs of differences: the shortest form. */
void writeIntegers(ByteBuffer& out, StreamType type, const std::vector<uint32_t>& values);
void writeIntegers(ByteBuffer& out, StreamType type, const std::vector<int32_t>& values);
void writeIntegers(ByteBuffer& out, StreamType type, const std::vector<uint64_t>& values);
void writeIntegers(ByteBuffer& out, StreamType type, const std::vector<int64_t>& values);

}  // namespace graticule::mlt
