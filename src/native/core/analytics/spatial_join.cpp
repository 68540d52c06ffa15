#include "spatial_join.h"

#include <algorithm>
#include <new>

#include "ground_box.h"

namespace graticule {

SpatialJoin::~SpatialJoin() {
  if (tree_ != nullptr) GEOSSTRtree_destroy_r(geos_->handle(), tree_);
}

void SpatialJoin::add(const uint8_t* blob, size_t size) {
  auto operand = std::make_unique<SpatialOperand>(geos_);
  const bool usable = blob != nullptr && operand->readCopy(blob, size) == ReadStatus::Ok && !operand->empty();
  right_.push_back(usable ? std::move(operand) : nullptr);
}

void SpatialJoin::build() {
  met_.assign(right_.size(), false);
  tree_ = GEOSSTRtree_create_r(geos_->handle(), 10);
  if (tree_ == nullptr) throw std::bad_alloc();
  for (size_t i = 0; i < right_.size(); ++i) {
    if (right_[i] == nullptr) continue;
    const GeosGeometry box = rectangleOf(*geos_, right_[i]->envelope());
    // The tree keeps no more of the geometry than its envelope.
    if (box != nullptr) GEOSSTRtree_insert_r(geos_->handle(), tree_, box.get(), reinterpret_cast<void*>(i));
  }
}

size_t SpatialJoin::match(const uint8_t* blob, size_t size, std::vector<uint32_t>& found) {
  SpatialOperand left(geos_);
  if (blob == nullptr || left.read(blob, size) != ReadStatus::Ok || left.empty()) return 0;
  std::vector<uint32_t> candidates;
  const auto take = [](void* item, void* list) {
    static_cast<std::vector<uint32_t>*>(list)->push_back(static_cast<uint32_t>(reinterpret_cast<size_t>(item)));
  };
  for (const Box& box : byDistance_ ? groundBoxes(left.envelope(), metres_) : std::vector<Box>{left.envelope()}) {
    const GeosGeometry window = rectangleOf(*geos_, box);
    if (window != nullptr) GEOSSTRtree_query_r(geos_->handle(), tree_, window.get(), take, &candidates);
  }
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  for (const uint32_t i : candidates) {
    // Preparing a geometry pays from its second meeting on.
    right_[i]->lasting = met_[i];
    met_[i] = true;
    if (matches(left, *right_[i])) found.push_back(i);
  }
  return candidates.size();
}

bool SpatialJoin::matches(SpatialOperand& left, SpatialOperand& right) const {
  if (!byDistance_) return evaluate(predicate_, left, right).value_or(false);
  const std::optional<double> metres =
      geodesicDistance(left.sphere(kRadiansPerDegree), right.sphere(kRadiansPerDegree), CrsMeasure{});
  return metres && *metres <= metres_;
}

}  // namespace graticule
