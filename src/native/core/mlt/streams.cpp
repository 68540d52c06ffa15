#include "streams.h"

#include <algorithm>
#include <type_traits>

#include "../values/varint.h"

namespace graticule::mlt {
namespace {

enum class Logical : uint8_t { None = 0, Delta = 1, ComponentwiseDelta = 2, Rle = 3 };
enum class Physical : uint8_t { None = 0, Varint = 2 };

constexpr uint8_t encodingOf(Logical first, Logical second, Physical physical) {
  return static_cast<uint8_t>(static_cast<uint8_t>(first) << 5 | static_cast<uint8_t>(second) << 2 |
                              static_cast<uint8_t>(physical));
}

void writeMetadata(ByteBuffer& out, StreamType type, uint8_t encoding, uint64_t count, uint64_t size) {
  out.push(static_cast<uint8_t>(type));
  out.push(encoding);
  out.pushVarint(count);
  out.pushVarint(size);
}

constexpr uint32_t zigzagOf(int32_t v) { return zigzag(v); }
constexpr uint64_t zigzagOf(int64_t v) { return zigzag64(v); }

/** Number in its stream form: signed numbers in zigzag order. */
template <typename T>
constexpr std::make_unsigned_t<T> plainOf(T v) {
  if constexpr (std::is_signed_v<T>) return zigzagOf(v);
  return v;
}

/** The difference from the one before, which wraps around. */
template <typename T>
constexpr std::make_unsigned_t<T> deltaOf(T v, T before) {
  using Unsigned = std::make_unsigned_t<T>;
  return zigzagOf(static_cast<std::make_signed_t<T>>(static_cast<Unsigned>(v) - static_cast<Unsigned>(before)));
}

/** Bytes of the data in each encoding, and how many runs there are. */
struct Sizes {
  size_t plain = 0;
  size_t delta = 0;
  size_t rle = SIZE_MAX;
  size_t deltaRle = SIZE_MAX;
  size_t runs = 0;
  size_t deltaRuns = 0;

  size_t least() const { return std::min(std::min(plain, delta), std::min(rle, deltaRle)); }
};

/** Same as `varintSize`, by comparisons that a compiler vectorises. */
constexpr uint32_t bytesOf(uint32_t v) {
  return 1u + (v >= 1u << 7) + (v >= 1u << 14) + (v >= 1u << 21) + (v >= 1u << 28);
}
constexpr uint32_t bytesOf(uint64_t v) { return static_cast<uint32_t>(varintSize(v)); }

/** Calls `visit` with the length and the value of each run. */
template <typename T, typename Visit>
void eachRun(const std::vector<T>& values, bool differences, Visit&& visit) {
  using Unsigned = std::make_unsigned_t<T>;
  T before = 0;
  Unsigned value = 0;
  uint64_t length = 0;
  for (const T v : values) {
    const Unsigned number = differences ? deltaOf(v, before) : plainOf(v);
    before = v;
    if (length != 0 && number != value) {
      visit(length, value);
      length = 0;
    }
    value = number;
    ++length;
  }
  if (length != 0) visit(length, value);
}

template <typename T>
size_t sizeOfRuns(const std::vector<T>& values, bool differences) {
  size_t size = 0;
  eachRun(values, differences, [&](uint64_t length, auto value) { size += varintSize(length) + varintSize(value); });
  return size;
}

template <typename T>
Sizes sizesOf(const std::vector<T>& values) {
  Sizes sizes;
  const size_t n = values.size();
  const T* v = values.data();
  for (size_t i = 0; i < std::min<size_t>(n, 2); ++i) {
    sizes.plain += bytesOf(plainOf(v[i]));
    sizes.delta += bytesOf(deltaOf(v[i], i == 0 ? T{0} : v[0]));
  }
  sizes.runs = (n > 0) + (n > 1 && v[1] != v[0]);
  sizes.deltaRuns = (n > 0) + (n > 1 && deltaOf(v[1], v[0]) != deltaOf(v[0], T{0}));
  size_t plain = 0;
  size_t delta = 0;
  size_t runs = 0;
  size_t deltaRuns = 0;
  for (size_t i = 2; i < n; ++i) {
    const auto difference = deltaOf(v[i], v[i - 1]);
    plain += bytesOf(plainOf(v[i]));
    delta += bytesOf(difference);
    runs += v[i] != v[i - 1];
    deltaRuns += difference != deltaOf(v[i - 1], v[i - 2]);
  }
  sizes.plain += plain;
  sizes.delta += delta;
  sizes.runs += runs;
  sizes.deltaRuns += deltaRuns;
  // A run has two bytes or more.
  if (2 * sizes.runs < std::min(sizes.plain, sizes.delta)) sizes.rle = sizeOfRuns(values, false);
  if (2 * sizes.deltaRuns < std::min(sizes.plain, sizes.delta)) sizes.deltaRle = sizeOfRuns(values, true);
  return sizes;
}

/** The lengths of all runs, then their values. */
template <typename T>
void writeRuns(ByteBuffer& out, const std::vector<T>& values, bool differences) {
  eachRun(values, differences, [&](uint64_t length, auto) { out.pushVarint(length); });
  eachRun(values, differences, [&](uint64_t, auto value) { out.pushVarint(value); });
}

template <typename T>
void writeAll(ByteBuffer& out, const std::vector<T>& values, bool differences) {
  uint8_t* p = out.reserve(values.size() * kMaxVarint64);
  T before = 0;
  for (const T v : values) {
    p = putVarint64(p, differences ? deltaOf(v, before) : plainOf(v));
    before = v;
  }
  out.commit(p);
}

/** Readers in browsers add up differences as doubles: larger numbers are written without. */
template <typename T>
bool hasDifferences(const std::vector<T>& values) {
  if constexpr (sizeof(T) == 4) return true;
  constexpr uint64_t kMaxSafe = (uint64_t{1} << 53) - 1;
  return std::all_of(values.begin(), values.end(), [](T v) { return plainOf(v) <= kMaxSafe; });
}

template <typename T>
void write(ByteBuffer& out, StreamType type, const std::vector<T>& values) {
  Sizes sizes = sizesOf(values);
  if (!hasDifferences(values)) sizes.delta = sizes.deltaRle = SIZE_MAX;
  const size_t least = sizes.least();
  const auto writeRle = [&](Logical first, Logical second, uint64_t runs, bool differences) {
    writeMetadata(out, type, encodingOf(first, second, Physical::Varint), 2 * runs, least);
    out.pushVarint(runs);
    out.pushVarint(values.size());
    writeRuns(out, values, differences);
  };
  if (values.size() > 1 && least == sizes.rle) return writeRle(Logical::Rle, Logical::None, sizes.runs, false);
  if (values.size() > 1 && least == sizes.deltaRle) return writeRle(Logical::Delta, Logical::Rle, sizes.deltaRuns, true);
  const bool differences = sizes.delta < sizes.plain;
  const Logical logical = differences ? Logical::Delta : Logical::None;
  writeMetadata(out, type, encodingOf(logical, Logical::None, Physical::Varint), values.size(),
                differences ? sizes.delta : sizes.plain);
  writeAll(out, values, differences);
}

}  // namespace

void writePlain(ByteBuffer& out, StreamType type, uint32_t count, const void* data, size_t size) {
  writeMetadata(out, type, encodingOf(Logical::None, Logical::None, Physical::None), count, size);
  out.append(data, size);
}

void writeBits(ByteBuffer& out, StreamType type, const std::vector<uint8_t>& bits, uint32_t count) {
  constexpr size_t kLeastRun = 3;
  constexpr size_t kMostRun = 130;
  constexpr size_t kMostLiterals = 128;
  const size_t n = (count + 7) / 8;
  ByteBuffer data;
  const auto runAt = [&](size_t i) {
    size_t length = 1;
    while (i + length < n && length < kMostRun && bits[i + length] == bits[i]) ++length;
    return length;
  };
  for (size_t i = 0; i < n;) {
    size_t run = runAt(i);
    if (run >= kLeastRun) {
      data.push(static_cast<uint8_t>(run - kLeastRun));
      data.push(bits[i]);
      i += run;
      continue;
    }
    const size_t begin = i;
    while (i < n && i - begin < kMostLiterals && (run = runAt(i)) < kLeastRun) i += run;
    i = std::min(i, begin + kMostLiterals);
    data.push(static_cast<uint8_t>(256 - (i - begin)));
    data.append(bits.data() + begin, i - begin);
  }
  writeMetadata(out, type, encodingOf(Logical::Rle, Logical::None, Physical::None), count, data.size());
  out.append(data.data(), data.size());
}

void writeVertices(ByteBuffer& out, uint32_t count, const ByteBuffer& varints) {
  writeMetadata(out, StreamType::VertexData,
                encodingOf(Logical::ComponentwiseDelta, Logical::None, Physical::Varint), count, varints.size());
  out.append(varints.data(), varints.size());
}

void Runs::clear() {
  lengths.clear();
  values.clear();
  count = 0;
  bytes = 0;
}

void Runs::add(uint32_t difference, uint32_t length) {
  if (length == 0) return;
  lengths.push_back(length);
  values.push_back(difference);
  count += length;
  bytes += varintSize(length) + varintSize(difference);
}

void writeDeltaRuns(ByteBuffer& out, StreamType type, const Runs& runs) {
  writeMetadata(out, type, encodingOf(Logical::Delta, Logical::Rle, Physical::Varint), 2 * runs.lengths.size(),
                runs.bytes);
  uint8_t* p = out.reserve(2 * kMaxVarint64 + 2 * kMaxVarint32 * runs.lengths.size());
  p = putVarint64(p, runs.lengths.size());
  p = putVarint64(p, runs.count);
  for (const uint32_t length : runs.lengths) p = putVarint32(p, length);
  for (const uint32_t value : runs.values) p = putVarint32(p, value);
  out.commit(p);
}

size_t sizeOfIntegers(const std::vector<uint32_t>& values) { return sizesOf(values).least(); }

void writeIntegers(ByteBuffer& out, StreamType type, const std::vector<uint32_t>& values) { write(out, type, values); }
void writeIntegers(ByteBuffer& out, StreamType type, const std::vector<int32_t>& values) { write(out, type, values); }
void writeIntegers(ByteBuffer& out, StreamType type, const std::vector<uint64_t>& values) { write(out, type, values); }
void writeIntegers(ByteBuffer& out, StreamType type, const std::vector<int64_t>& values) { write(out, type, values); }

}  // namespace graticule::mlt
