#include "tile_layer.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "../clipping/generalise.h"
#include "../values/varint.h"
#include "../geometry/wkb.h"

namespace graticule {
namespace {

constexpr uint8_t kTileLayers = lengthDelimited(3);
constexpr uint8_t kLayerName = lengthDelimited(1);
constexpr uint8_t kLayerFeatures = lengthDelimited(2);
constexpr uint8_t kLayerExtent = varintField(5);
constexpr uint8_t kLayerVersion = varintField(15);
constexpr uint8_t kFeatureId = varintField(1);
constexpr uint8_t kFeatureTags = lengthDelimited(2);
constexpr uint8_t kFeatureType = varintField(3);
constexpr uint8_t kFeatureGeometry = lengthDelimited(4);

/** Head room for the layer's own key and length, written once its size is known. */
constexpr size_t kHeadRoom = 1 + kMaxVarint64;
/** Memory an idle encoder may keep per buffer. */
constexpr size_t kKeptMemory = 4u << 20;

constexpr int kMaxThinnings = 6;
/** Work between two checks of the deadline: bytes read, with an extra amount per feature. */
constexpr size_t kWorkPerLook = 1u << 20;
constexpr size_t kWorkPerFeature = 256;

/** Walks the packed tags of a feature message and calls `pair` with key and value index. */
template <typename Pair>
void eachTag(const uint8_t* p, const uint8_t* end, Pair&& pair) {
  uint64_t key = 0;
  uint64_t value = 0;
  while (p != end) {
    p = getVarint(p, end, key);
    p = getVarint(p, end, value);
    pair(static_cast<uint32_t>(key), static_cast<uint32_t>(value));
  }
}

/** Parts of a feature message of this encoder. */
struct FeatureMessage {
  const uint8_t* body;
  const uint8_t* tags;
  const uint8_t* tagsEnd;
  /** Type and geometry. */
  const uint8_t* rest;
  const uint8_t* end;

  FeatureMessage(const uint8_t* message, const uint8_t* messageEnd) : end(messageEnd) {
    uint64_t value = 0;
    body = getVarint(message + 1, end, value);
    const uint8_t* p = body;
    if (*p == kFeatureId) p = getVarint(p + 1, end, value);
    tags = tagsEnd = p;
    if (*p == kFeatureTags) {
      tags = getVarint(p + 1, end, value);
      tagsEnd = tags + value;
    }
    rest = tagsEnd;
  }
  /** Bytes of the id, if any. */
  const uint8_t* idEnd() const {
    uint64_t value = 0;
    return *body == kFeatureId ? getVarint(body + 1, end, value) : body;
  }
};

/** Coordinate of a command, which is written as 32 bits. */
int32_t unzigzag(uint64_t value) {
  const auto bits = static_cast<uint32_t>(value);
  return static_cast<int32_t>(bits >> 1 ^ (0u - (bits & 1)));
}

uint8_t* putBytes(uint8_t* p, uint8_t key, const uint8_t* bytes, size_t n) {
  *p++ = key;
  p = putVarint64(p, n);
  if (n != 0) std::memcpy(p, bytes, n);
  return p + n;
}

}  // namespace

void TileLayerEncoder::begin(const TileLayerOptions& options, std::shared_ptr<const Reprojector> reprojector) {
  options_ = options;
  reprojector_ = std::move(reprojector);
  grid_ = TileGrid::of(options_.bbox, options_.extent, options_.buffer);
  encoder_.begin(grid_, options_.simplify, reprojector_.get());
  if (options_.cells != 0) options_.columns = {{"count", FieldType::Integer}};
  values_.begin(options_.columns);
  cells_.begin(options_.cells, options_.extent, options_.bbox);
  features_ = 0;
  layer_.clear();
  uint8_t* p = layer_.reserve(kHeadRoom + 2 + 1 + kMaxVarint64 + options_.name.size());
  p += kHeadRoom;
  *p++ = kLayerVersion;
  *p++ = 2;
  layer_.commit(putBytes(p, kLayerName, reinterpret_cast<const uint8_t*>(options_.name.data()), options_.name.size()));
  head_ = layer_.size();
  written_.clear();
  threshold_ = 0;
  sample_.begin(options_.extent);
  dropped_ = 0;
  work_ = 0;
  nextLook_ = kWorkPerLook;
  late_ = false;
}

bool TileLayerEncoder::addGeometry(const uint8_t* blob, size_t size) {
  BlobHeader header;
  work_ += size + kWorkPerFeature;
  if (blob == nullptr || readHeader(blob, size, header) != ReadStatus::Ok || header.empty) return false;
  if (header.hasEnvelope && !encoder_.mayTouch(header.envelope)) return false;
  if (readWkb(blob + header.wkbOffset, size - header.wkbOffset, geometry_) != ReadStatus::Ok) return false;
  if (options_.deadline != 0) watchTime();
  if (cells_.enabled()) {
    double x = 0;
    double y = 0;
    if (encoder_.place(geometry_, x, y)) cells_.add(x, y);
    return false;
  }
  commands_.clear();
  tags_.clear();
  encodeParts();
  return partCount_ != 0;
}

void TileLayerEncoder::encodeParts() {
  partCount_ = 0;
  unsigned kinds = 0;
  for (const Node& node : geometry_.nodes) {
    if (node.simple()) kinds |= 1u << static_cast<unsigned>(node.type);
  }
  for (const auto type : {TileGeometryType::Point, TileGeometryType::LineString, TileGeometryType::Polygon}) {
    const size_t before = commands_.size();
    if ((kinds & 1u << static_cast<unsigned>(type)) == 0 || !encoder_.encode(geometry_, type, commands_)) continue;
    Part& part = parts_[partCount_];
    part = {type, commands_.size(), 0, EvenSample::kNone};
    if (!bounded() || mattersEnough(part, before)) {
      ++partCount_;
    } else {
      ++dropped_;
      commands_.truncate(before);
    }
  }
}

/** Computes the importance of a part, whose commands start at `begin`. False for a part that must be dropped. */
bool TileLayerEncoder::mattersEnough(Part& part, size_t begin) {
  // Encoded geometries have one or more positions.
  const uint32_t hash = hashOfPosition(geometry_.sequences.front());
  if (part.type != TileGeometryType::Point) {
    part.importance = importanceOf(encoder_.measure(), hash);
    return part.importance >= threshold_;
  }
  const uint8_t* end = commands_.data() + part.end;
  uint64_t x = 0;
  uint64_t y = 0;
  const uint8_t* p = getVarint(commands_.data() + begin, end, x);
  p = getVarint(p, end, x);
  getVarint(p, end, y);
  part.cell = sample_.cellOf(unzigzag(x), unzigzag(y));
  part.importance = hash;
  return sample_.admits(part.cell, hash);
}

void TileLayerEncoder::watchTime() {
  if (work_ < nextLook_) return;
  nextLook_ = work_ + kWorkPerLook;
  using namespace std::chrono;
  const auto now = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  late_ = static_cast<double>(now) >= options_.deadline;
}

bool TileLayerEncoder::outgrown(uint64_t times) const {
  const uint64_t bytes = layer_.size() + values_.size();
  return (options_.maxFeatures != 0 && features_ > options_.maxFeatures * times) ||
         (options_.maxBytes != 0 && bytes > options_.maxBytes * times);
}

/** Sets the importance of all points by their places. */
void TileLayerEncoder::rankPoints() {
  entries_.clear();
  for (const Written& w : written_) {
    if (w.cell != EvenSample::kNone) entries_.push_back({w.cell, static_cast<uint32_t>(w.importance), w.tie, 0});
  }
  if (entries_.empty()) return;
  sample_.rank(entries_);
  size_t next = 0;
  for (Written& w : written_) {
    if (w.cell != EvenSample::kNone) w.importance = entries_[next++].importance;
  }
}

/** The most important features that fit, in the order that they came in. */
std::vector<TileLayerEncoder::Written> TileLayerEncoder::choose() const {
  std::vector<Written> kept = written_;
  std::sort(kept.begin(), kept.end(), [](const Written& a, const Written& b) {
    if (a.importance != b.importance) return a.importance > b.importance;
    return a.tie != b.tie ? a.tie > b.tie : a.begin < b.begin;
  });
  const double features = static_cast<double>(layer_.size() - head_);
  // Values shrink with the features that name them, more or less.
  const double share = features / (features + static_cast<double>(values_.size()));
  const double bytes = options_.maxBytes == 0 ? features : static_cast<double>(options_.maxBytes) * share;
  const size_t most = options_.maxFeatures == 0 ? kept.size() : static_cast<size_t>(options_.maxFeatures);
  size_t count = 0;
  double sum = 0;
  while (count < kept.size() && count < most) {
    sum += static_cast<double>(kept[count].end - kept[count].begin);
    // One feature is shown, however large.
    if (sum > bytes && count > 0) break;
    ++count;
  }
  kept.resize(count);
  return kept;
}

/** Drops features beyond the budget. */
void TileLayerEncoder::thin() {
  rankPoints();
  std::vector<Written> kept = choose();
  if (kept.size() == written_.size()) return;
  dropped_ += written_.size() - kept.size();
  threshold_ = kept.back().importance;
  entries_.clear();
  for (const Written& w : kept) {
    if (w.cell == EvenSample::kNone) continue;
    entries_.push_back({w.cell, static_cast<uint32_t>(w.importance), w.tie, w.importance});
  }
  sample_.limit(threshold_, entries_);
  std::sort(kept.begin(), kept.end(), [](const Written& a, const Written& b) { return a.begin < b.begin; });
  rewrite(kept);
}

void TileLayerEncoder::rewrite(const std::vector<Written>& kept) {
  std::vector<uint8_t> used(values_.count(), 0);
  for (const Written& w : kept) {
    const FeatureMessage message(layer_.data() + w.begin, layer_.data() + w.end);
    eachTag(message.tags, message.tagsEnd, [&](uint32_t, uint32_t value) { used[value] = 1; });
  }
  std::vector<uint32_t> indexes;
  values_.keepOnly(used, indexes);
  rewritten_.clear();
  written_.clear();
  for (const Written& w : kept) {
    const FeatureMessage message(layer_.data() + w.begin, layer_.data() + w.end);
    tags_.clear();
    eachTag(message.tags, message.tagsEnd, [&](uint32_t key, uint32_t value) {
      uint8_t* p = putVarint32(tags_.reserve(2 * kMaxVarint32), key);
      tags_.commit(putVarint32(p, indexes[value]));
    });
    const size_t id = static_cast<size_t>(message.idEnd() - message.body);
    const size_t rest = static_cast<size_t>(message.end - message.rest);
    const size_t tags = tags_.empty() ? 0 : 1 + varintSize(tags_.size()) + tags_.size();
    const size_t begin = head_ + rewritten_.size();
    uint8_t* p = rewritten_.reserve(1 + kMaxVarint64 + id + tags + rest);
    *p++ = kLayerFeatures;
    p = putVarint64(p, id + tags + rest);
    std::memcpy(p, message.body, id);
    p += id;
    if (tags != 0) p = putBytes(p, kFeatureTags, tags_.data(), tags_.size());
    std::memcpy(p, message.rest, rest);
    rewritten_.commit(p + rest);
    written_.push_back({w.importance, begin, head_ + rewritten_.size(), w.cell, w.tie});
  }
  layer_.truncate(head_);
  layer_.append(rewritten_.data(), rewritten_.size());
  features_ = static_cast<uint32_t>(written_.size());
}

void TileLayerEncoder::endFeature(const uint64_t* id) {
  size_t begin = 0;
  const auto tie = id == nullptr ? 0 : static_cast<uint32_t>(*id * 0x9e3779b97f4a7c15ull >> 32);
  // A collection of several kinds becomes one feature per kind: a feature of a tile has one type.
  for (int i = 0; i < partCount_; ++i) {
    const size_t geometrySize = parts_[i].end - begin;
    size_t size = 2 + 1 + varintSize(geometrySize) + geometrySize;
    if (id != nullptr) size += 1 + varintSize(*id);
    if (!tags_.empty()) size += 1 + varintSize(tags_.size()) + tags_.size();
    const size_t start = layer_.size();
    uint8_t* p = layer_.reserve(1 + kMaxVarint64 + size);
    *p++ = kLayerFeatures;
    p = putVarint64(p, size);
    if (id != nullptr) {
      *p++ = kFeatureId;
      p = putVarint64(p, *id);
    }
    if (!tags_.empty()) p = putBytes(p, kFeatureTags, tags_.data(), tags_.size());
    *p++ = kFeatureType;
    *p++ = static_cast<uint8_t>(parts_[i].type);
    p = putBytes(p, kFeatureGeometry, commands_.data() + begin, geometrySize);
    layer_.commit(p);
    begin = parts_[i].end;
    ++features_;
    if (bounded()) written_.push_back({parts_[i].importance, start, layer_.size(), parts_[i].cell, tie});
  }
  partCount_ = 0;
  // Now and then: each time costs a sort.
  if (bounded() && outgrown(2)) thin();
}

/** Writes each cell that has points as a square with their number. */
void TileLayerEncoder::writeCells() {
  const double side = static_cast<double>(options_.extent) / options_.cells;
  const auto border = [side](uint32_t cell) { return static_cast<int32_t>(std::lrint(cell * side)); };
  cells_.each([&](uint32_t column, uint32_t row, uint32_t count) {
    const int32_t left = border(column);
    const int32_t top = border(row);
    const int32_t width = border(column + 1) - left;
    const int32_t height = border(row + 1) - top;
    if (width == 0 || height == 0) return;
    commands_.clear();
    uint8_t* p = commands_.reserve(11 * kMaxVarint32);
    // MoveTo, three LineTo clockwise in the tile, ClosePath.
    for (const uint32_t value : {9u, zigzag(left), zigzag(top), 26u, zigzag(width), 0u, 0u, zigzag(height),
                                 zigzag(-width), 0u, 15u}) {
      p = putVarint32(p, value);
    }
    commands_.commit(p);
    tags_.clear();
    values_.tag(0, Value::ofInteger(count), tags_);
    parts_[0] = {TileGeometryType::Polygon, commands_.size(), 0, EvenSample::kNone};
    partCount_ = 1;
    endFeature(nullptr);
  });
}

const uint8_t* TileLayerEncoder::finish(size_t& size) {
  size = 0;
  if (cells_.enabled()) writeCells();
  if (features_ == 0) return nullptr;
  // The share of the values is a guess, and better each time.
  for (int i = 0; i < kMaxThinnings && bounded() && outgrown(1); ++i) thin();
  values_.finish(layer_);
  uint8_t* p = layer_.reserve(1 + kMaxVarint32);
  *p++ = kLayerExtent;
  layer_.commit(putVarint32(p, options_.extent));
  const size_t length = layer_.size() - kHeadRoom;
  uint8_t* head = layer_.data() + kHeadRoom - 1 - varintSize(length);
  *head = kTileLayers;
  putVarint64(head + 1, length);
  size = static_cast<size_t>(layer_.data() + layer_.size() - head);
  return head;
}

void TileLayerEncoder::release() {
  reprojector_.reset();
  encoder_.begin(grid_, 0, nullptr);
  geometry_.clear();
  layer_.shrink(kKeptMemory);
  rewritten_.shrink(kKeptMemory);
  commands_.shrink(kKeptMemory);
}

int64_t countTileFeatures(const uint8_t* tile, size_t size) {
  int64_t features = 0;
  const uint8_t* end = tile + size;
  uint64_t value = 0;
  // A Tile contains only layers. A layer is read field by field, and its features are skipped.
  for (const uint8_t* p = tile; p != end;) {
    if (*p++ != kTileLayers || (p = getVarint(p, end, value)) == nullptr) return -1;
    if (value > static_cast<uint64_t>(end - p)) return -1;
    const uint8_t* layerEnd = p + value;
    while (p != layerEnd) {
      const uint8_t key = *p++;
      if ((p = getVarint(p, layerEnd, value)) == nullptr) return -1;
      if ((key & 7) == 0) continue;
      if ((key & 7) != 2 || value > static_cast<uint64_t>(layerEnd - p)) return -1;
      p += value;
      features += key == kLayerFeatures;
    }
  }
  return features;
}

}  // namespace graticule
