#include "plain_blob.h"

#include <cmath>
#include <cstring>

#include "geometry.h"

namespace graticule {
namespace {

constexpr size_t kHeader = 8;
constexpr size_t kEnvelope = 32;
/** Version 0; little endian, with an envelope of x and y or with none. */
constexpr uint8_t kStart[] = {'G', 'P', 0};
constexpr uint8_t kWithEnvelope = 0x03;
constexpr uint8_t kWithoutEnvelope = 0x01;
constexpr uint32_t kZ = 1000;
constexpr int kMostDepth = 32;

class PlainWkb {
 public:
  PlainWkb(const uint8_t* begin, const uint8_t* end) : p_(begin), end_(end) {}

  /** Reads one geometry. False if it is not plain. */
  bool geometry(int depth, uint32_t container) {
    uint32_t code = 0;
    if (left() < 5 || *p_++ != 1) return false;
    code = number();
    const uint32_t type = code % kZ;
    if (code / kZ > 1 || type < 1 || type > 7 || depth > kMostDepth) return false;
    if (depth == 0) {
      first_ = type;
      dimensions_ = 2 + code / kZ;
    }
    // All parts must have the dimension of the complete geometry.
    if (code / kZ != dimensions_ - 2 || !mayHold(container, type)) return false;
    if (type == 1) return positions(1);
    uint32_t count = 0;
    if (!counted(count)) return false;
    if (type == 2) return count >= 2 && positions(count);
    for (uint32_t i = 0; i < count; ++i) {
      if (type == 3 ? !ring() : !geometry(depth + 1, type)) return false;
    }
    return true;
  }

  bool atEnd() const { return p_ == end_; }
  bool isPoint() const { return first_ == 1; }
  const Box& box() const { return box_; }

 private:
  size_t left() const { return static_cast<size_t>(end_ - p_); }
  static bool mayHold(uint32_t container, uint32_t type) {
    return container == 0 || container == 7 || type + 3 == container;
  }
  uint32_t number() {
    const uint32_t value = loadNative<uint32_t>(p_);
    p_ += 4;
    return value;
  }
  /** Reads a count, which must not be 0. */
  bool counted(uint32_t& count) {
    if (left() < 4) return false;
    count = number();
    return count != 0;
  }
  bool positions(uint32_t count) {
    const size_t stride = size_t{8} * dimensions_;
    if (left() / stride < count) return false;
    for (uint32_t i = 0; i < count; ++i, p_ += stride) {
      const double x = loadNative<double>(p_);
      const double y = loadNative<double>(p_ + 8);
      if (!std::isfinite(x) || !std::isfinite(y)) return false;
      box_.add(x, y);
    }
    return true;
  }
  bool ring() {
    uint32_t count = 0;
    if (!counted(count) || count < 4) return false;
    const uint8_t* begin = p_;
    return positions(count) && std::memcmp(begin, p_ - size_t{8} * dimensions_, 16) == 0;
  }

  const uint8_t* p_;
  const uint8_t* end_;
  uint32_t first_ = 0;
  uint32_t dimensions_ = 2;
  Box box_;
};

}  // namespace

bool isPlainBlob(const uint8_t* blob, size_t size, int32_t srsId) {
  if (size < kHeader || std::memcmp(blob, kStart, sizeof kStart) != 0 || loadNative<int32_t>(blob + 4) != srsId) return false;
  const bool hasEnvelope = blob[3] == kWithEnvelope;
  const size_t offset = kHeader + (hasEnvelope ? kEnvelope : 0);
  if ((!hasEnvelope && blob[3] != kWithoutEnvelope) || size < offset) return false;
  PlainWkb wkb(blob + offset, blob + size);
  if (!wkb.geometry(0, 0) || !wkb.atEnd() || wkb.isPoint() == hasEnvelope) return false;
  if (!hasEnvelope) return true;
  const Box& box = wkb.box();
  const double sides[] = {box.minX, box.maxX, box.minY, box.maxY};
  for (size_t i = 0; i < 4; ++i) {
    if (loadNative<double>(blob + kHeader + 8 * i) != sides[i]) return false;
  }
  return true;
}

}  // namespace graticule
