#include "decoder.h"

#include <algorithm>

#include "../values/varint.h"

namespace graticule::mlt {
namespace {

constexpr uint32_t kLayerTag = 1;
uint32_t command(uint32_t id, size_t count) { return static_cast<uint32_t>(count << 3 | id); }

void appendBytes(ByteBuffer& out, uint8_t key, const ByteBuffer& bytes) {
  out.push(key);
  out.pushVarint(bytes.size());
  out.append(bytes.data(), bytes.size());
}

/** Writes geometries one after the other, according to their lengths. */
class CommandWriter {
 public:
  CommandWriter(const Geometries& geometry, ByteBuffer& out) : geometry_(geometry), out_(out) {}

  /** The next feature; returns its type there, 0 when it has no position. */
  uint32_t next(uint64_t type) {
    cursor_ = {};
    out_.clear();
    const uint64_t members = type >= 3 ? take(geometry_.geometries, geometryAt_) : 1;
    switch (type) {
      case 0:
      case 3: writePoints(members); break;
      case 1:
      case 4:
        for (uint64_t i = 0; i < members; ++i) writeLine(lengthOfLine());
        break;
      case 2:
      case 5:
        for (uint64_t i = 0; i < members; ++i) writePolygon();
        break;
      default: throw Broken{"an unknown type of geometry"};
    }
    return out_.empty() ? 0 : static_cast<uint32_t>(type % 3 + 1);
  }

 private:
  static uint64_t take(const std::vector<uint64_t>& lengths, size_t& at) {
    if (at >= lengths.size()) throw Broken{"geometries without their lengths"};
    return lengths[at++];
  }

  uint64_t lengthOfLine() {
    return geometry_.hasRings ? take(geometry_.rings, ringAt_) : take(geometry_.parts, partAt_);
  }

  /** The next positions. */
  void read(uint64_t count) {
    const size_t all = geometry_.hasPlaces ? geometry_.places.size() : geometry_.vertices.size();
    if (count > all - positionAt_) throw Broken{"geometries without their positions"};
    ring_.clear();
    for (uint64_t i = 0; i < count; ++i, ++positionAt_) {
      const uint64_t place = geometry_.hasPlaces ? geometry_.places[positionAt_] : positionAt_;
      if (place >= geometry_.vertices.size()) throw Broken{"a place beyond its dictionary"};
      ring_.push_back(geometry_.vertices[place]);
    }
  }

  void writePositions(size_t begin, size_t end) {
    uint8_t* p = out_.reserve(2 * kMaxVarint32 * (end - begin));
    for (size_t i = begin; i < end; ++i) {
      p = putVarint32(p, zigzagDifference(ring_[i].x, cursor_.x));
      p = putVarint32(p, zigzagDifference(ring_[i].y, cursor_.y));
      cursor_ = ring_[i];
    }
    out_.commit(p);
    requireRoom(out_.size());
  }

  void writePoints(uint64_t count) {
    read(count);
    if (ring_.empty()) return;
    out_.pushVarint(command(1, ring_.size()));
    writePositions(0, ring_.size());
  }

  void writePath() {
    out_.pushVarint(command(1, 1));
    writePositions(0, 1);
    if (ring_.size() == 1) return;
    out_.pushVarint(command(2, ring_.size() - 1));
    writePositions(1, ring_.size());
  }

  void writeLine(uint64_t count) {
    read(count);
    if (!ring_.empty()) writePath();
  }

  /** Exterior rings have an area above 0 there, interior ones below. */
  void writePolygon() {
    const uint64_t rings = take(geometry_.parts, partAt_);
    for (uint64_t i = 0; i < rings; ++i) {
      read(take(geometry_.rings, ringAt_));
      if (ring_.empty()) continue;
      if ((area() > 0) != (i == 0)) std::reverse(ring_.begin() + 1, ring_.end());
      writePath();
      out_.pushVarint(command(7, 1));
    }
  }

  double area() const {
    double sum = 0;
    for (size_t i = 0; i < ring_.size(); ++i) {
      const Position& a = ring_[i];
      const Position& b = ring_[(i + 1) % ring_.size()];
      sum += static_cast<double>(a.x) * b.y - static_cast<double>(b.x) * a.y;
    }
    return sum;
  }

  const Geometries& geometry_;
  ByteBuffer& out_;
  size_t geometryAt_ = 0;
  size_t partAt_ = 0;
  size_t ringAt_ = 0;
  size_t positionAt_ = 0;
  Position cursor_;
  std::vector<Position> ring_;
};

Value valueOf(const Column& column, size_t i) {
  switch (column.kind) {
    case Column::Kind::Text: return Value::ofText(column.texts[i].data(), column.texts[i].size());
    case Column::Kind::Boolean: return Value::ofBoolean(column.numbers[i] != 0);
    case Column::Kind::Float: {
      const auto bits = static_cast<uint32_t>(column.numbers[i]);
      return Value::ofReal(static_cast<double>(loadNative<float>(reinterpret_cast<const uint8_t*>(&bits))));
    }
    case Column::Kind::Double:
      return Value::ofReal(loadNative<double>(reinterpret_cast<const uint8_t*>(&column.numbers[i])));
    default: break;
  }
  const auto number = static_cast<int64_t>(column.numbers[i]);
  // Unsigned numbers beyond the signed range are rounded, like in readers in browsers.
  if (column.kind == Column::Kind::Unsigned && number < 0) return Value::ofReal(static_cast<double>(column.numbers[i]));
  return Value::ofInteger(number);
}

}  // namespace

void Decoder::decode(const uint8_t* tile, size_t size, ByteBuffer& out) {
  Budget budget;
  for (Cursor cursor({tile, tile + size}); !cursor.atEnd();) {
    Cursor block(cursor.bytes(cursor.varint32()));
    // Blocks of later versions are skipped, as the specification requires.
    if (block.varint32() != kLayerTag) continue;
    Table table(budget);
    readTable(block.rest(), table);
    writeLayer(table, out);
  }
}

void Decoder::writeLayer(const Table& table, ByteBuffer& out) {
  constexpr uint8_t kVersion = varintField(15), kName = lengthDelimited(1), kFeature = lengthDelimited(2);
  constexpr uint8_t kExtent = varintField(5), kLayer = lengthDelimited(3);
  constexpr uint8_t kId = varintField(1), kTags = lengthDelimited(2), kType = varintField(3);
  constexpr uint8_t kGeometry = lengthDelimited(4);
  std::vector<TileValues::Column> names;
  for (const Column& column : table.columns) names.push_back({column.name, FieldType::Any});
  values_.begin(names);
  layer_.clear();
  layer_.push(kVersion);
  layer_.push(2);
  layer_.push(kName);
  layer_.pushVarint(table.name.size());
  layer_.append(table.name.data(), table.name.size());
  CommandWriter commands(table.geometry, commands_);
  std::vector<size_t> at(table.columns.size(), 0);
  size_t idAt = 0;
  ByteBuffer feature;
  uint32_t written = 0;
  for (uint32_t i = 0; i < table.features(); ++i) {
    feature.clear();
    tags_.clear();
    if (!table.ids.numbers.empty() && table.ids.has(i)) {
      feature.push(kId);
      feature.pushVarint(table.ids.numbers[idAt++]);
    }
    for (size_t c = 0; c < table.columns.size(); ++c) {
      const Column& column = table.columns[c];
      if (column.has(i)) values_.tag(c, valueOf(column, at[c]++), tags_);
    }
    const uint32_t type = commands.next(table.geometry.types[i]);
    if (type == 0) continue;
    if (!tags_.empty()) appendBytes(feature, kTags, tags_);
    feature.push(kType);
    feature.push(static_cast<uint8_t>(type));
    appendBytes(feature, kGeometry, commands_);
    appendBytes(layer_, kFeature, feature);
    ++written;
    requireRoom(out.size() + layer_.size() + values_.size());
  }
  if (written == 0) return;
  values_.finish(layer_);
  layer_.push(kExtent);
  layer_.pushVarint(table.extent);
  appendBytes(out, kLayer, layer_);
}

}  // namespace graticule::mlt
