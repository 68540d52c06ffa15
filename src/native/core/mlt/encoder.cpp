#include "encoder.h"

#include "../varint.h"

namespace graticule::mlt {
namespace {

/** Tag of a block that is a layer with its metadata. */
constexpr uint8_t kLayerTag = 1;

void appendVarint(ByteBuffer& out, uint64_t value) { out.commit(putVarint64(out.reserve(kMaxVarint64), value)); }

}  // namespace

bool Encoder::encode(const uint8_t* tile, size_t size, ByteBuffer& out) {
  const uint8_t* const end = tile + size;
  for (const uint8_t* p = tile; p != end;) {
    if (!readMvtLayer(p, end, layer_)) return false;
    // A layer without a name cannot be asked for, and is none here.
    if (!layer_.name.empty() && !encodeLayer(out)) return false;
  }
  return true;
}

bool Encoder::encodeLayer(ByteBuffer& out) {
  geometry_.begin();
  ids_.begin();
  if (!properties_.begin(layer_)) return false;
  for (const MvtFeature& feature : layer_.features) {
    if (!geometry_.add(feature)) continue;
    ids_.add(feature);
    if (!properties_.add(feature)) return false;
  }
  if (geometry_.features() == 0) return true;
  head_.clear();
  body_.clear();
  propertyHead_.clear();
  propertyBody_.clear();
  const bool hasIds = ids_.write(head_, body_);
  writeColumnHead(head_, ColumnType::Geometry, false, {});
  geometry_.write(body_);
  const uint32_t columns = properties_.write(propertyHead_, propertyBody_) + 1 + hasIds;
  ByteBuffer start;
  start.push(kLayerTag);
  appendVarint(start, layer_.name.size());
  start.append(layer_.name.data(), layer_.name.size());
  appendVarint(start, layer_.extent);
  appendVarint(start, columns);
  appendVarint(out, start.size() + head_.size() + propertyHead_.size() + body_.size() + propertyBody_.size());
  for (const ByteBuffer* part : {&start, &head_, &propertyHead_, &body_, &propertyBody_}) {
    out.append(part->data(), part->size());
  }
  return true;
}

}  // namespace graticule::mlt
