#include "prefix_code.h"

#include <algorithm>
#include <array>

namespace graticule {
namespace {

constexpr uint32_t kMaxBits = 15;

struct Symbol {
  uint32_t weight;
  uint16_t value;
};

/**
 * Replaces the weights of symbols, lightest first, by the lengths of their codes (Moffat and Katajainen, In-place
 * calculation of minimum-redundancy codes, 1995).
 */
void weightsToLengths(Symbol* symbols, int n) {
  int leaf = 0;
  int root = 0;
  const auto lightest = [&](int next) {
    if (leaf < n && (root >= next || symbols[leaf].weight <= symbols[root].weight)) return symbols[leaf++].weight;
    const uint32_t weight = symbols[root].weight;
    symbols[root++].weight = static_cast<uint32_t>(next);
    return weight;
  };
  for (int next = 0; next < n - 1; ++next) {
    const uint32_t first = lightest(next);
    symbols[next].weight = first + lightest(next);
  }
  // From parents to depths of inner nodes.
  symbols[n - 2].weight = 0;
  for (int i = n - 3; i >= 0; --i) symbols[i].weight = symbols[symbols[i].weight].weight + 1;
  // Converts depths of inner nodes to depths of leaves.
  int inner = n - 2;
  int next = n - 1;
  int free = 1;
  for (uint32_t depth = 0; free > 0; ++depth) {
    int used = 0;
    for (; inner >= 0 && symbols[inner].weight == depth; --inner) ++used;
    for (; free > used; --free) symbols[next--].weight = depth;
    free = 2 * used;
  }
}

/** Shortens codes that are too long, and lengthens other codes until all codes just fit. */
void bound(std::array<uint32_t, kMaxSymbols>& ofLength, uint32_t limit) {
  for (uint32_t length = limit + 1; length < ofLength.size(); ++length) {
    ofLength[limit] += ofLength[length];
    ofLength[length] = 0;
  }
  uint32_t taken = 0;
  for (uint32_t length = 1; length <= limit; ++length) taken += ofLength[length] << (limit - length);
  for (; taken > 1U << limit; --taken) {
    --ofLength[limit];
    uint32_t length = limit - 1;
    while (ofLength[length] == 0) --length;
    --ofLength[length];
    ofLength[length + 1] += 2;
  }
}

uint16_t reversed(uint32_t code, uint32_t bits) {
  uint32_t result = 0;
  for (uint32_t i = 0; i < bits; ++i) result |= ((code >> i) & 1) << (bits - 1 - i);
  return static_cast<uint16_t>(result);
}

}  // namespace

void codeLengths(const uint32_t* occurrences, size_t symbols, uint32_t limit, uint8_t* lengths) {
  std::array<Symbol, kMaxSymbols> used;
  size_t n = 0;
  for (size_t i = 0; i < symbols; ++i) {
    lengths[i] = 0;
    if (occurrences[i] != 0) used[n++] = {occurrences[i], static_cast<uint16_t>(i)};
  }
  std::sort(used.begin(), used.begin() + n, [](const Symbol& a, const Symbol& b) {
    return a.weight != b.weight ? a.weight < b.weight : a.value < b.value;
  });
  weightsToLengths(used.data(), static_cast<int>(n));
  std::array<uint32_t, kMaxSymbols> ofLength{};
  for (size_t i = 0; i < n; ++i) ++ofLength[used[i].weight];
  bound(ofLength, limit);
  size_t next = n;
  for (uint32_t length = 1; length <= limit; ++length) {
    for (uint32_t i = 0; i < ofLength[length]; ++i) lengths[used[--next].value] = static_cast<uint8_t>(length);
  }
}

void codesOf(const uint8_t* lengths, size_t symbols, uint16_t* codes) {
  std::array<uint32_t, kMaxBits + 1> ofLength{};
  for (size_t i = 0; i < symbols; ++i) ++ofLength[lengths[i]];
  ofLength[0] = 0;
  std::array<uint32_t, kMaxBits + 1> next{};
  for (uint32_t bits = 1; bits <= kMaxBits; ++bits) next[bits] = (next[bits - 1] + ofLength[bits - 1]) << 1;
  for (size_t i = 0; i < symbols; ++i) codes[i] = reversed(next[lengths[i]]++, lengths[i]);
}

}  // namespace graticule
