#include "run_stream.h"

#include <libdeflate.h>

#include <algorithm>
#include <vector>

#include "../tiles/byte_counts.h"
#include "deflate_block.h"

namespace graticule {
namespace {

/** Bytes that share their codes. */
constexpr size_t kBlockBytes = 65536;
/**
 * Number of bytes in one comparison. A run of nearly twice as many bytes contains an aligned word, wherever it
 * starts.
 */
constexpr size_t kWord = 4;
/** Shorter runs cost less as literals. */
constexpr size_t kShortest = 6;
/** More than one byte can take: a literal of 15 bits. A run takes less than its bytes would. */
constexpr size_t kBytesOfByte = 2;

/** Literals and the repetitions of the last one. */
struct Stretch {
  size_t literals;
  size_t repeated;
};

bool isOneByte(uint32_t word) { return word == (word << 8 | word >> 24); }

void findRuns(const uint8_t* bytes, size_t size, std::vector<Stretch>& stretches) {
  stretches.clear();
  size_t done = 0;
  for (size_t i = 0; i + kWord <= size;) {
    if (!isOneByte(loadNative<uint32_t>(bytes + i))) {
      i += kWord;
      continue;
    }
    size_t begin = i;
    while (begin > done && bytes[begin - 1] == bytes[i]) --begin;
    size_t end = i + kWord;
    while (end < size && bytes[end] == bytes[i]) ++end;
    if (end - begin >= kShortest) {
      stretches.push_back({begin + 1 - done, end - begin - 1});
      done = end;
    }
    i = end;
  }
  stretches.push_back({size - done, 0});
}

Occurrences occurrencesOf(const uint8_t* bytes, const std::vector<Stretch>& stretches) {
  ByteCounts counts;
  Occurrences occurrences;
  for (const auto& [literals, repeated] : stretches) {
    counts.add(bytes, literals);
    splitRepetition(repeated, [&](uint32_t length) { occurrences.addRepetition(length, 1); });
    bytes += literals + repeated;
  }
  for (size_t value = 0; value < 256; ++value) occurrences.literals[value] += counts.of(value);
  return occurrences;
}

void putStretches(const uint8_t* bytes, const std::vector<Stretch>& stretches, const BlockCodes& codes,
                  BitWriter& bits) {
  for (const auto& [literals, repeated] : stretches) {
    size_t i = 0;
    for (; i + 3 <= literals; i += 3) codes.putThreeLiterals(bytes + i, bits);
    for (; i < literals; ++i) codes.putLiteral(bytes[i], bits);
    splitRepetition(repeated, [&](uint32_t length) { codes.putRepetition(length, 1, bits); });
    bytes += literals + repeated;
  }
}

}  // namespace

void compressRuns(const uint8_t* bytes, size_t size, ByteBuffer& out) {
  beginZlib(out);
  std::vector<Stretch> stretches;
  BitWriter bits;
  size_t done = 0;
  do {
    const size_t block = std::min(size - done, kBlockBytes);
    const bool last = done + block == size;
    findRuns(bytes + done, block, stretches);
    const BlockCodes codes(occurrencesOf(bytes + done, stretches));
    bits.begin(out.reserve(kBlockHeadBytes + kBytesOfByte * (block + 1)));
    codes.putHead(last, bits);
    putStretches(bytes + done, stretches, codes, bits);
    codes.putEnd(bits);
    if (last) bits.fillByte();
    out.commit(bits.end());
    done += block;
  } while (done < size);
  endZlib(libdeflate_adler32(1, bytes, size), out);
}

}  // namespace graticule
