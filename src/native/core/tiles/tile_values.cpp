#include "tile_values.h"

#include <algorithm>
#include <cmath>

#include "../values/text.h"
#include "../values/varint.h"
#include "../values/zoned_time.h"

namespace graticule {
namespace {

// Fields of the messages Layer and Value.
constexpr uint8_t kLayerKeys = lengthDelimited(3);
constexpr uint8_t kLayerValues = lengthDelimited(4);
constexpr uint8_t kStringValue = lengthDelimited(1);
constexpr uint8_t kDoubleValue = 3 << 3 | 1;
constexpr uint8_t kIntValue = varintField(4);
constexpr uint8_t kSintValue = varintField(6);
constexpr uint8_t kBoolValue = varintField(7);

constexpr size_t kInitialSlots = 256;

uint64_t mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint32_t hashBytes(const uint8_t* p, size_t n) {
  constexpr uint64_t k0 = 0xa0761d6478bd642full;
  constexpr uint64_t k1 = 0xe7037ed1a0b428dbull;
  uint64_t h = n ^ k0;
  for (; n >= 16; p += 16, n -= 16) h = mix(loadNative<uint64_t>(p) ^ k1, loadNative<uint64_t>(p + 8) ^ h);
  uint64_t a = 0;
  uint64_t b = 0;
  if (n >= 8) {
    a = loadNative<uint64_t>(p);
    b = loadNative<uint64_t>(p + n - 8);
  } else if (n >= 4) {
    a = loadNative<uint32_t>(p);
    b = loadNative<uint32_t>(p + n - 4);
  } else if (n > 0) {
    a = uint64_t{p[0]} << 16 | uint64_t{p[n / 2]} << 8 | p[n - 1];
  }
  h = mix(a ^ k1, b ^ h);
  return static_cast<uint32_t>(h ^ h >> 32);
}

/** Writes a Value message of unchanged text. */
void appendText(ByteBuffer& out, const char* text, size_t size) {
  uint8_t* p = out.reserve(1 + kMaxVarint64 + size);
  *p++ = kStringValue;
  p = putVarint64(p, size);
  if (size != 0) std::memcpy(p, text, size);
  out.commit(p + size);
}

/** Writes a Value message of text whose broken UTF-8 is replaced. */
void appendSanitisedText(ByteBuffer& out, const char* text, size_t size) {
  // Length first, so malformed text (which grows) is measured before it is written.
  const size_t sanitised = sanitisedSize(text, size);
  uint8_t* p = out.reserve(1 + kMaxVarint64 + sanitised);
  *p++ = kStringValue;
  out.commit(putVarint64(p, sanitised));
  appendSanitised(out, text, size);
}

/** Writes a Value message. Text is unchanged. */
void appendValue(ByteBuffer& out, const Value& value) {
  if (value.kind == Value::Kind::Text) return appendText(out, value.bytes, value.size);
  uint8_t* p = out.reserve(1 + kMaxVarint64);
  if (value.kind == Value::Kind::Real) {
    *p++ = kDoubleValue;
    std::memcpy(p, &value.real, 8);
    p += 8;
  } else if (value.kind == Value::Kind::Boolean) {
    *p++ = kBoolValue;
    *p++ = value.integer != 0;
  } else if (value.integer < 0) {
    *p++ = kSintValue;
    p = putVarint64(p, zigzag64(value.integer));
  } else {
    *p++ = kIntValue;
    p = putVarint64(p, static_cast<uint64_t>(value.integer));
  }
  out.commit(p);
}

bool representable(const Value& value) {
  switch (value.kind) {
    case Value::Kind::Null:
    case Value::Kind::Blob: return false;
    case Value::Kind::Real: return std::isfinite(value.real);
    default: return true;
  }
}

}  // namespace

void TileValues::begin(const std::vector<Column>& columns) {
  columns_ = columns;
  states_.clear();
  usedColumns_.clear();
  for (const Column& column : columns_) {
    states_.push_back({&column, kNone, kNone, Value::Kind::Null, 0, 0});
  }
  values_.clear();
  extents_.clear();
  slots_.assign(kInitialSlots, {0, 0});
}

void TileValues::tag(size_t column, const Value& given, ByteBuffer& tags) {
  if (column >= states_.size() || !representable(given)) return;
  ColumnState& state = states_[column];
  const ZonedTime zoned(state.column->type, given);
  Value value = zoned.value();
  if (state.column->type == FieldType::Boolean && value.kind == Value::Kind::Integer) {
    value = Value::ofBoolean(value.integer != 0);
  }
  if (!repeats(state, value)) {
    state.lastIndex = intern(value);
    state.lastKind = value.kind;
    state.lastInteger = value.integer;
    state.lastReal = value.real;
  }
  uint8_t* p = tags.reserve(2 * kMaxVarint32);
  p = putVarint32(p, keyOf(state));
  p = putVarint32(p, state.lastIndex);
  tags.commit(p);
}

uint32_t TileValues::keyOf(ColumnState& state) {
  if (state.key != kNone) return state.key;
  for (size_t i = 0; i < usedColumns_.size(); ++i) {
    if (columns_[usedColumns_[i]].name == state.column->name) return state.key = static_cast<uint32_t>(i);
  }
  usedColumns_.push_back(static_cast<uint32_t>(state.column - columns_.data()));
  return state.key = static_cast<uint32_t>(usedColumns_.size() - 1);
}

bool TileValues::repeats(const ColumnState& state, const Value& value) const {
  if (state.lastIndex == kNone || state.lastKind != value.kind) return false;
  if (value.kind == Value::Kind::Real) {
    // Bits, not numbers: 0 and -0 are two values.
    return std::memcmp(&state.lastReal, &value.real, 8) == 0;
  }
  if (value.kind != Value::Kind::Text) return state.lastInteger == value.integer;
  size_t size = 0;
  const uint8_t* bytes = text(state.lastIndex, size);
  return size == value.size && (size == 0 || std::memcmp(bytes, value.bytes, size) == 0);
}

const uint8_t* TileValues::text(uint32_t index, size_t& size) const {
  const uint8_t* p = values_.data() + extents_[index].offset + 1;
  uint64_t length = 0;
  p = getVarint(p, values_.data() + values_.size(), length);
  size = static_cast<size_t>(length);
  return p;
}

uint32_t TileValues::intern(const Value& value) {
  const size_t offset = values_.size();
  appendValue(values_, value);
  uint32_t hash = hashOf(offset);
  uint32_t index = find(offset, hash);
  // Only new text is checked for broken UTF-8, because stored values are well-formed.
  if (index == kNone && value.kind == Value::Kind::Text && !isUtf8(value.bytes, value.size)) {
    values_.truncate(offset);
    appendSanitisedText(values_, value.bytes, value.size);
    hash = hashOf(offset);
    index = find(offset, hash);
  }
  if (index == kNone) return insert(offset, hash);
  values_.truncate(offset);
  return index;
}

uint32_t TileValues::hashOf(size_t offset) const {
  return hashBytes(values_.data() + offset, values_.size() - offset);
}

uint32_t TileValues::find(size_t offset, uint32_t hash) const {
  const size_t size = values_.size() - offset;
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask; slots_[at].index != 0; at = (at + 1) & mask) {
    if (slots_[at].hash != hash) continue;
    const Extent& other = extents_[slots_[at].index - 1];
    if (other.size == size && std::memcmp(values_.data() + other.offset, values_.data() + offset, size) == 0) {
      return slots_[at].index - 1;
    }
  }
  return kNone;
}

uint32_t TileValues::insert(size_t offset, uint32_t hash) {
  return enter({static_cast<uint32_t>(offset), static_cast<uint32_t>(values_.size() - offset)}, hash);
}

uint32_t TileValues::enter(const Extent& extent, uint32_t hash) {
  if ((extents_.size() + 1) * 2 > slots_.size()) rehash(slots_.size() * 2);
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].index != 0) at = (at + 1) & mask;
  extents_.push_back(extent);
  slots_[at] = {hash, static_cast<uint32_t>(extents_.size())};
  return static_cast<uint32_t>(extents_.size() - 1);
}

void TileValues::rehash(size_t size) {
  std::vector<Slot> slots(size, {0, 0});
  for (const Slot& slot : slots_) {
    if (slot.index == 0) continue;
    size_t at = slot.hash & (size - 1);
    while (slots[at].index != 0) at = (at + 1) & (size - 1);
    slots[at] = slot;
  }
  slots_.swap(slots);
}

void TileValues::keepOnly(const std::vector<uint8_t>& used, std::vector<uint32_t>& indexes) {
  indexes.assign(extents_.size(), kNone);
  std::vector<Extent> kept;
  uint8_t* p = values_.data();
  for (size_t i = 0; i < extents_.size(); ++i) {
    if (!used[i]) continue;
    const Extent e = extents_[i];
    // Values move only towards the front, so that values that are still needed are not overwritten.
    std::memmove(p, values_.data() + e.offset, e.size);
    indexes[i] = static_cast<uint32_t>(kept.size());
    kept.push_back({static_cast<uint32_t>(p - values_.data()), e.size});
    p += e.size;
  }
  if (p != nullptr) values_.commit(p);
  extents_.clear();
  slots_.assign(kInitialSlots, {0, 0});
  for (ColumnState& state : states_) state.lastIndex = kNone;
  for (const Extent& e : kept) enter(e, hashBytes(values_.data() + e.offset, e.size));
}

void TileValues::finish(ByteBuffer& layer) const {
  for (const uint32_t column : usedColumns_) {
    const std::string& name = columns_[column].name;
    uint8_t* p = layer.reserve(1 + kMaxVarint64 + name.size());
    *p++ = kLayerKeys;
    layer.commit(putVarint64(p, name.size()));
    layer.append(name.data(), name.size());
  }
  uint8_t* p = layer.reserve(values_.size() + extents_.size() * (1 + kMaxVarint32));
  for (const Extent& e : extents_) {
    *p++ = kLayerValues;
    p = putVarint32(p, e.size);
    std::memcpy(p, values_.data() + e.offset, e.size);
    p += e.size;
  }
  layer.commit(p);
}

}  // namespace graticule
