// Streams of a MapLibre Tile from untrusted input (MapLibre Tile Specification, "Encodings").
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "failures.h"
#include "mvt_layer.h"

namespace graticule::mlt {

/** Reads on within bytes; throws `Broken` at their end. */
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : p_(bytes.begin), end_(bytes.end) {}

  bool atEnd() const { return p_ == end_; }
  Bytes rest() const { return {p_, end_}; }
  uint8_t byte();
  uint32_t varint32();
  uint64_t varint64();
  Bytes bytes(uint64_t size);
  std::string_view text();

 private:
  const uint8_t* p_;
  const uint8_t* end_;
};

enum class Logical : uint8_t { None = 0, Delta = 1, ComponentwiseDelta = 2, Rle = 3, Morton = 4 };
enum class Physical : uint8_t { None = 0, FastPfor = 1, Varint = 2 };
/** The upper four bits of a stream's type. */
enum class StreamKind : uint8_t { Present = 0, Data = 1, Offset = 2, Length = 3 };

struct Stream {
  StreamKind kind;
  /** The lower four bits: which dictionary, offsets or lengths. */
  uint8_t subtype;
  Logical first;
  Logical second;
  Physical physical;
  /** Number of stored numbers, and number of decoded numbers. */
  uint32_t stored;
  uint32_t count;
  uint32_t runs = 0;
  uint32_t mortonBits = 0;
  uint32_t mortonShift = 0;
  Bytes data;
};

Stream readStream(Cursor& cursor);

struct Width {
  int bits;
  bool isSigned;
};
constexpr Width kUnsigned32{32, false}, kSigned32{32, true}, kUnsigned64{64, false}, kSigned64{64, true};

/** Reads integers as 64-bit two's complement. */
void readNumbers(const Stream& stream, Width width, Budget& budget, std::vector<uint64_t>& numbers);

/** Bits from the least significant one of the first byte on. */
std::vector<uint8_t> readBits(const Stream& stream, Budget& budget);

/** Numbers that are packed into words of 32 bits in big-endian order (FastPFOR, blocks of 256). */
void readFastPfor(Bytes data, uint32_t count, std::vector<uint64_t>& numbers);

}  // namespace graticule::mlt
