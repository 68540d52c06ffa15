#include "spatial_join.h"

#include <algorithm>

#include "ground_box.h"

namespace graticule {

void SpatialJoin::add(const uint8_t* blob, size_t size) {
  auto operand = std::make_unique<SpatialOperand>(geos_);
  const bool usable = blob != nullptr && operand->readCopy(blob, size) == ReadStatus::Ok && !operand->empty();
  right_.push_back(usable ? std::move(operand) : nullptr);
}

void SpatialJoin::build() {
  met_.assign(right_.size(), false);
  for (uint32_t i = 0; i < right_.size(); ++i) {
    if (right_[i] != nullptr) tree_.add(right_[i]->envelope(), i);
  }
  tree_.build();
  built_ = true;
}

size_t SpatialJoin::match(const uint8_t* blob, size_t size, std::vector<uint32_t>& found) {
  if (!built_) build();
  SpatialOperand left(geos_);
  if (blob == nullptr || left.read(blob, size) != ReadStatus::Ok || left.empty()) return 0;
  std::vector<uint32_t>& candidates = candidates_;
  candidates.clear();
  const auto take = [&](uint32_t item) { candidates.push_back(item); };
  if (byDistance_) {
    for (const Box& box : groundBoxes(left.envelope(), metres_)) tree_.query(box, take);
  } else {
    tree_.query(left.envelope(), take);
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
