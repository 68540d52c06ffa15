#include "stream_reader.h"

#include "../values/bytes.h"
#include "../values/varint.h"

namespace graticule::mlt {
namespace {

constexpr int64_t unzigzag(uint64_t v) { return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1); }

bool isOfRuns(const Stream& stream) {
  return (stream.first == Logical::Rle || stream.second == Logical::Rle) && stream.physical != Physical::None;
}

void readStored(const Stream& stream, int bits, std::vector<uint64_t>& numbers) {
  numbers.clear();
  if (stream.physical == Physical::FastPfor) {
    if (bits != 32) throw Broken{"long numbers in FastPFOR"};
    return readFastPfor(stream.data, stream.stored, numbers);
  }
  Cursor cursor(stream.data);
  const uint64_t least = stream.physical == Physical::Varint ? 1 : static_cast<uint64_t>(bits) / 8;
  if (stream.stored * least > stream.data.size()) throw Broken{"a stream that is too short"};
  numbers.reserve(stream.stored);
  for (uint32_t i = 0; i < stream.stored; ++i) {
    if (stream.physical == Physical::Varint) {
      numbers.push_back(cursor.varint64());
    } else if (bits == 32) {
      numbers.push_back(loadNative<uint32_t>(cursor.bytes(4).begin));
    } else {
      numbers.push_back(loadNative<uint64_t>(cursor.bytes(8).begin));
    }
  }
}

/** The lengths of all runs come first, then their values. */
void expand(const Stream& stream, std::vector<uint64_t>& numbers) {
  if (numbers.size() != 2 * uint64_t{stream.runs}) throw Broken{"runs without values"};
  std::vector<uint64_t> all;
  all.reserve(stream.count);
  for (uint32_t run = 0; run < stream.runs; ++run) {
    const uint64_t length = numbers[run];
    if (length > stream.count - all.size()) throw Broken{"runs that are too long"};
    all.insert(all.end(), length, numbers[stream.runs + run]);
  }
  if (all.size() != stream.count) throw Broken{"runs that are too short"};
  numbers.swap(all);
}

/** Cuts sums to the width of the numbers. */
uint64_t cut(uint64_t number, int bits, bool isSigned) {
  if (bits == 64) return number;
  const auto low = static_cast<uint32_t>(number);
  return isSigned ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(low))) : low;
}

}  // namespace

uint8_t Cursor::byte() {
  if (p_ == end_) throw Broken{"an early end"};
  return *p_++;
}

uint64_t Cursor::varint64() {
  uint64_t value = 0;
  p_ = getVarint(p_, end_, value);
  if (p_ == nullptr) throw Broken{"an early end"};
  return value;
}

uint32_t Cursor::varint32() {
  const uint64_t value = varint64();
  if (value > UINT32_MAX) throw Broken{"a number that is too large"};
  return static_cast<uint32_t>(value);
}

Bytes Cursor::bytes(uint64_t size) {
  if (size > static_cast<uint64_t>(end_ - p_)) throw Broken{"an early end"};
  const Bytes bytes{p_, p_ + size};
  p_ += size;
  return bytes;
}

std::string_view Cursor::text() {
  const Bytes text = bytes(varint32());
  return {reinterpret_cast<const char*>(text.begin), text.size()};
}

Stream readStream(Cursor& cursor) {
  Stream stream;
  const uint8_t type = cursor.byte();
  const uint8_t encoding = cursor.byte();
  if (type >> 4 > 3 || encoding >> 5 > 4 || (encoding >> 2 & 7) > 4 || (encoding & 3) > 2) {
    throw Broken{"an unknown stream"};
  }
  stream.kind = static_cast<StreamKind>(type >> 4);
  stream.subtype = type & 15;
  stream.first = static_cast<Logical>(encoding >> 5);
  stream.second = static_cast<Logical>(encoding >> 2 & 7);
  stream.physical = static_cast<Physical>(encoding & 3);
  stream.stored = cursor.varint32();
  const uint32_t size = cursor.varint32();
  stream.count = stream.stored;
  if (stream.first == Logical::Morton) {
    stream.mortonBits = cursor.varint32();
    stream.mortonShift = cursor.varint32();
  } else if (isOfRuns(stream)) {
    stream.runs = cursor.varint32();
    stream.count = cursor.varint32();
  }
  stream.data = cursor.bytes(size);
  return stream;
}

void readNumbers(const Stream& stream, Width width, Budget& budget, std::vector<uint64_t>& numbers) {
  const auto [bits, isSigned] = width;
  budget.takeNumbers(uint64_t{stream.stored} + (isOfRuns(stream) ? stream.count : 0));
  readStored(stream, bits, numbers);
  if (isOfRuns(stream)) expand(stream, numbers);
  uint64_t sums[2] = {0, 0};
  size_t component = 0;
  const bool isPairs = stream.first == Logical::ComponentwiseDelta;
  for (uint64_t& number : numbers) {
    switch (stream.first) {
      case Logical::Delta:
      case Logical::ComponentwiseDelta:
        sums[component] += static_cast<uint64_t>(unzigzag(number));
        number = cut(sums[component], bits, isSigned);
        component ^= isPairs;
        break;
      case Logical::Morton:
        sums[0] += number;
        number = sums[0];
        break;
      default:
        number = cut(isSigned ? static_cast<uint64_t>(unzigzag(number)) : number, bits, isSigned);
    }
  }
}

std::vector<uint8_t> readBits(const Stream& stream, Budget& budget) {
  const size_t size = (size_t{stream.count} + 7) / 8;
  budget.takeNumbers(size / 8 + 1);
  if (stream.physical != Physical::None) throw Broken{"bits that are packed"};
  if (stream.first == Logical::None) {
    if (stream.data.size() < size) throw Broken{"bits that are missing"};
    return {stream.data.begin, stream.data.begin + size};
  }
  std::vector<uint8_t> bits;
  bits.reserve(size);
  Cursor cursor(stream.data);
  while (bits.size() < size) {
    const uint8_t head = cursor.byte();
    if (head < 0x80) {
      bits.insert(bits.end(), head + 3u, cursor.byte());
    } else {
      const Bytes literals = cursor.bytes(256u - head);
      bits.insert(bits.end(), literals.begin, literals.end);
    }
  }
  bits.resize(size);
  return bits;
}

}  // namespace graticule::mlt
