// FastPFOR: most numbers of a block in a few bits, and the higher bits of the other numbers separately (Lemire and
// Boytsov 2015).
#include <algorithm>

#include "stream_reader.h"

namespace graticule::mlt {
namespace {

constexpr uint32_t kBlock = 256;
constexpr uint32_t kPage = 65536;
constexpr uint32_t kWordBits = 32;

class Words {
 public:
  explicit Words(Bytes data) : data_(data) {
    if (data.size() % 4 != 0) throw Broken{"FastPFOR of half a word"};
  }

  size_t size() const { return data_.size() / 4; }
  uint32_t at(size_t i) const {
    if (i >= size()) throw Broken{"FastPFOR that ends early"};
    const uint8_t* p = data_.begin + 4 * i;
    return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | p[3];
  }
  /** Bytes from a word on, the lowest of each word first. */
  uint8_t byteAt(size_t word, size_t i) const { return static_cast<uint8_t>(at(word + i / 4) >> 8 * (i % 4)); }

  /** Returns number `i` of the numbers of `bits` bits that are packed from a word. */
  uint32_t packed(size_t word, size_t i, uint32_t bits) const {
    const size_t bit = i * bits;
    const size_t at = word + bit / kWordBits;
    const auto shift = static_cast<uint32_t>(bit % kWordBits);
    uint64_t value = this->at(at) >> shift;
    if (shift + bits > kWordBits) value |= uint64_t{this->at(at + 1)} << (kWordBits - shift);
    return static_cast<uint32_t>(value & ((uint64_t{1} << bits) - 1));
  }

 private:
  Bytes data_;
};

/** Higher bits of the numbers that do not fit, grouped by their number of bits. */
struct Exceptions {
  std::vector<uint32_t> values[kWordBits + 1];
  size_t next[kWordBits + 1] = {};
};

/** Reads them from the bitmap at a word on; returns the word after them. */
size_t readExceptions(const Words& words, size_t at, Exceptions& exceptions) {
  const uint32_t bitmap = words.at(at++);
  for (uint32_t bits = 2; bits <= kWordBits; ++bits) {
    if ((bitmap >> (bits - 1) & 1) == 0) continue;
    const uint32_t count = words.at(at++);
    if (count > kPage) throw Broken{"FastPFOR of too many exceptions"};
    for (uint32_t i = 0; i < count; ++i) exceptions.values[bits].push_back(words.packed(at, i, bits));
    at += (uint64_t{count} * bits + kWordBits - 1) / kWordBits;
  }
  return at;
}

/** Adds a page of complete blocks; returns the word after it. */
size_t readPage(const Words& words, size_t begin, uint32_t count, std::vector<uint64_t>& numbers) {
  const size_t meta = begin + words.at(begin);
  const uint32_t metaBytes = words.at(meta);
  Exceptions exceptions;
  const size_t next = readExceptions(words, meta + 1 + (size_t{metaBytes} + 3) / 4, exceptions);
  size_t packed = begin + 1;
  size_t i = 0;
  const auto metaByte = [&] {
    if (i >= metaBytes) throw Broken{"FastPFOR that ends early"};
    return words.byteAt(meta + 1, i++);
  };
  for (uint32_t block = 0; block < count / kBlock; ++block) {
    const uint32_t bits = metaByte();
    const uint32_t exceptional = metaByte();
    if (bits > kWordBits) throw Broken{"FastPFOR of wide numbers"};
    const size_t first = numbers.size();
    for (uint32_t k = 0; k < kBlock; ++k) numbers.push_back(bits == 0 ? 0 : words.packed(packed, k, bits));
    packed += kBlock / kWordBits * bits;
    if (exceptional == 0) continue;
    const uint32_t most = metaByte();
    if (most <= bits || most > kWordBits) throw Broken{"FastPFOR of wide exceptions"};
    const uint32_t width = most - bits;
    for (uint32_t k = 0; k < exceptional; ++k) {
      const uint32_t place = metaByte();
      uint32_t high = 1;
      if (width > 1) {
        size_t& at = exceptions.next[width];
        if (at >= exceptions.values[width].size()) throw Broken{"FastPFOR without its exceptions"};
        high = exceptions.values[width][at++];
      }
      numbers[first + place] |= static_cast<uint32_t>(uint64_t{high} << bits);
    }
  }
  return next;
}

}  // namespace

void readFastPfor(Bytes data, uint32_t count, std::vector<uint64_t>& numbers) {
  const Words words(data);
  if (words.size() == 0) {
    if (count != 0) throw Broken{"FastPFOR that ends early"};
    return;
  }
  const uint32_t aligned = words.at(0);
  if (aligned % kBlock != 0 || aligned > count) throw Broken{"FastPFOR of other blocks"};
  // A block has two bytes or more.
  if (uint64_t{aligned} / kBlock * 2 > data.size()) throw Broken{"FastPFOR that ends early"};
  numbers.reserve(count);
  size_t at = 1;
  while (numbers.size() < aligned) {
    at = readPage(words, at, std::min(kPage, aligned - static_cast<uint32_t>(numbers.size())), numbers);
  }
  // Rest of the last block: seven bits per byte; the last byte of a number has the eighth bit set.
  uint64_t number = 0;
  uint32_t shift = 0;
  for (size_t i = 0; numbers.size() < count; ++i) {
    const uint8_t byte = words.byteAt(at, i);
    number |= uint64_t{byte & 0x7fu} << shift;
    shift += 7;
    if (byte < 0x80) {
      if (shift > 28) throw Broken{"FastPFOR of a number without an end"};
      continue;
    }
    numbers.push_back(static_cast<uint32_t>(number));
    number = 0;
    shift = 0;
  }
}

}  // namespace graticule::mlt
