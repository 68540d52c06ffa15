#include "encoder.h"

#include "failures.h"

namespace graticule::mlt {
namespace {

/** Tag of a block that is a layer with its metadata. */
constexpr uint8_t kLayerTag = 1;

}  // namespace

void Encoder::encode(const uint8_t* tile, size_t size, ByteBuffer& out) {
  const uint8_t* const end = tile + size;
  Budget budget;
  for (const uint8_t* p = tile; p != end;) {
    readMvtLayer(p, end, layer_);
    // A layer without a name cannot be requested, so it is omitted.
    if (!layer_.name.empty()) encodeLayer(budget, out);
    requireRoom(out.size());
  }
}

void Encoder::encodeLayer(Budget& budget, ByteBuffer& out) {
  budget.takeCells(uint64_t{layer_.features.size()} * layer_.keys.size());
  geometry_.begin();
  ids_.begin();
  properties_.begin(layer_);
  for (const MvtFeature& feature : layer_.features) {
    if (!geometry_.add(feature)) continue;
    ids_.add(feature);
    properties_.add(feature);
  }
  if (geometry_.features() == 0) return;
  for (ByteBuffer* part : {&start_, &head_, &body_, &propertyHead_, &propertyBody_}) part->clear();
  const bool hasIds = ids_.write(head_, body_);
  writeColumnHead(head_, ColumnType::Geometry, false, {});
  geometry_.write(body_);
  const uint32_t columns = properties_.write(propertyHead_, propertyBody_) + 1 + hasIds;
  start_.push(kLayerTag);
  start_.pushVarint(layer_.name.size());
  start_.append(layer_.name.data(), layer_.name.size());
  start_.pushVarint(layer_.extent);
  start_.pushVarint(columns);
  out.pushVarint(start_.size() + head_.size() + propertyHead_.size() + body_.size() + propertyBody_.size());
  for (const ByteBuffer* part : {&start_, &head_, &propertyHead_, &body_, &propertyBody_}) {
    out.append(part->data(), part->size());
  }
}

}  // namespace graticule::mlt
