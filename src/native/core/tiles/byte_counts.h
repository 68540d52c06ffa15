// Number of occurrences of each byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace graticule {

class ByteCounts {
 public:
  void add(const uint8_t* bytes, size_t size) {
    size_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) ++counts_[lane][bytes[i + lane]];
    }
    for (; i < size; ++i) ++counts_[0][bytes[i]];
  }

  uint32_t of(size_t value) const {
    uint32_t sum = 0;
    for (const auto& lane : counts_) sum += lane[value];
    return sum;
  }

 private:
  /** Equal bytes in a row would wait for each other's count. */
  static constexpr size_t kLanes = 4;
  std::array<std::array<uint32_t, 256>, kLanes> counts_{};
};

}  // namespace graticule
