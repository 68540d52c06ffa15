#include "tile_layer.h"

#include "varint.h"
#include "wkb.h"

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
  values_.begin(options_.columns);
  features_ = 0;
  layer_.clear();
  uint8_t* p = layer_.reserve(kHeadRoom + 2 + 1 + kMaxVarint64 + options_.name.size());
  p += kHeadRoom;
  *p++ = kLayerVersion;
  *p++ = 2;
  layer_.commit(putBytes(p, kLayerName, reinterpret_cast<const uint8_t*>(options_.name.data()), options_.name.size()));
}

bool TileLayerEncoder::addGeometry(const uint8_t* blob, size_t size) {
  BlobHeader header;
  if (blob == nullptr || readHeader(blob, size, header) != ReadStatus::Ok || header.empty) return false;
  if (header.hasEnvelope && !encoder_.mayTouch(header.envelope)) return false;
  if (readWkb(blob + header.wkbOffset, size - header.wkbOffset, geometry_) != ReadStatus::Ok) return false;
  commands_.clear();
  tags_.clear();
  partCount_ = 0;
  unsigned kinds = 0;
  for (const Node& node : geometry_.nodes) {
    if (node.simple()) kinds |= 1u << static_cast<unsigned>(node.type);
  }
  for (const auto type : {TileGeometryType::Point, TileGeometryType::LineString, TileGeometryType::Polygon}) {
    if ((kinds & 1u << static_cast<unsigned>(type)) != 0 && encoder_.encode(geometry_, type, commands_)) {
      parts_[partCount_++] = {type, commands_.size()};
    }
  }
  return partCount_ != 0;
}

void TileLayerEncoder::endFeature(const uint64_t* id) {
  size_t begin = 0;
  // A collection of several kinds becomes one feature per kind: a feature of a tile has one type.
  for (int i = 0; i < partCount_; ++i) {
    const size_t geometrySize = parts_[i].end - begin;
    size_t size = 2 + 1 + varintSize(geometrySize) + geometrySize;
    if (id != nullptr) size += 1 + varintSize(*id);
    if (!tags_.empty()) size += 1 + varintSize(tags_.size()) + tags_.size();
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
  }
  partCount_ = 0;
}

const uint8_t* TileLayerEncoder::finish(size_t& size) {
  size = 0;
  if (features_ == 0) return nullptr;
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
  commands_.shrink(kKeptMemory);
}

int64_t countTileFeatures(const uint8_t* tile, size_t size) {
  int64_t features = 0;
  const uint8_t* end = tile + size;
  uint64_t value = 0;
  // Tile holds layers only; a layer is walked field by field, its features are stepped over.
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
