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
  for (ByteBuffer* part : {&layerHeader_, &columnHeads_, &columnStreams_, &propertyHeads_, &propertyStreams_}) part->clear();
  const bool hasIds = ids_.write(columnHeads_, columnStreams_);
  writeColumnHead(columnHeads_, ColumnType::Geometry, false, {});
  geometry_.write(columnStreams_);
  const uint32_t columns = properties_.write(propertyHeads_, propertyStreams_) + 1 + hasIds;
  layerHeader_.push(kLayerTag);
  layerHeader_.pushVarint(layer_.name.size());
  layerHeader_.append(layer_.name.data(), layer_.name.size());
  layerHeader_.pushVarint(layer_.extent);
  layerHeader_.pushVarint(columns);
  out.pushVarint(layerHeader_.size() + columnHeads_.size() + propertyHeads_.size() + columnStreams_.size() + propertyStreams_.size());
  for (const ByteBuffer* part : {&layerHeader_, &columnHeads_, &propertyHeads_, &columnStreams_, &propertyStreams_}) {
    out.append(part->data(), part->size());
  }
}

}  // namespace graticule::mlt
