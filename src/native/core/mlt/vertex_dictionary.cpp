#include "vertex_dictionary.h"

#include "../values/varint.h"

namespace graticule::mlt {
namespace {

/** Fewer are not worth the look. */
constexpr size_t kLeastPositions = 32;

uint64_t keyOf(const Position& p) {
  return uint64_t{static_cast<uint32_t>(p.x)} << 32 | static_cast<uint32_t>(p.y);
}

/** Maximum average number of table probes per position. More are not a coincidence. */
constexpr size_t kMostProbes = 8;

/** The upper bits differ most. */
uint64_t hashOf(const Position& p) { return keyOf(p) * 0x9e3779b97f4a7c15ull; }

/** Mask of a sample by hash: either all or none of several equal positions are in the sample. */
constexpr uint64_t kSampleMask = 0xf000;
constexpr size_t kSampleSlots = 4096;
/** Minimum share of repeated positions in the sample: one of this number. */
constexpr size_t kLeastShare = 16;

}  // namespace

bool VertexDictionary::mayShare(const std::vector<Position>& positions) {
  // A slot contains the latest of its positions, plus one. Positions that were overwritten are not found again.
  sample_.assign(kSampleSlots, 0);
  size_t all = 0;
  size_t again = 0;
  for (const Position& position : positions) {
    const uint64_t hash = hashOf(position);
    if ((hash & kSampleMask << 16) != 0) continue;
    uint64_t& slot = sample_[hash >> 52];
    ++all;
    again += slot == keyOf(position) + 1;
    slot = keyOf(position) + 1;
  }
  return again * kLeastShare >= all;
}

bool VertexDictionary::build(const std::vector<Position>& positions, size_t plainSize) {
  if (positions.size() < kLeastPositions || !mayShare(positions)) return false;
  int bits = 6;
  while ((size_t{1} << bits) < 2 * positions.size()) ++bits;
  slots_.assign(size_t{1} << bits, 0);
  const size_t mask = slots_.size() - 1;
  places_.clear();
  size_t probes = 0;
  uint32_t before = 0;
  uint32_t step = 0;
  uint32_t length = 0;
  varints_.clear();
  uint8_t* p = varints_.reserve(2 * kMaxVarint32 * positions.size());
  distinct_.clear();
  distinct_.reserve(positions.size());
  Position last;
  for (const Position& position : positions) {
    size_t at = static_cast<size_t>(hashOf(position) >> (64 - bits));
    for (; slots_[at] != 0 && keyOf(distinct_[slots_[at] - 1]) != keyOf(position); at = (at + 1) & mask) {
      if (++probes > kMostProbes * positions.size()) return false;
    }
    if (slots_[at] == 0) {
      distinct_.push_back(position);
      slots_[at] = static_cast<uint32_t>(distinct_.size());
      p = putVarint32(p, zigzagDifference(position.x, last.x));
      p = putVarint32(p, zigzagDifference(position.y, last.y));
      last = position;
    }
    const uint32_t place = slots_[at] - 1;
    const uint32_t difference = place - before;
    if (difference != step) {
      places_.add(zigzag(static_cast<int32_t>(step)), length);
      step = difference;
      length = 0;
    }
    ++length;
    before = place;
  }
  places_.add(zigzag(static_cast<int32_t>(step)), length);
  varints_.commit(p);
  // Gzip compresses runs less well than differences between positions.
  return varints_.size() + places_.bytes * 5 / 4 < plainSize;
}

}  // namespace graticule::mlt
