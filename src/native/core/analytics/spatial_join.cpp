#include "spatial_join.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace graticule {
namespace {

constexpr double kRadiansPerDegree = 0.017453292519943295769;
/** The least metres of a degree of latitude, anywhere on the ellipsoid. */
constexpr double kMetresPerDegree = 110574;

/** The envelopes to look in for what lies within a distance: wider towards the poles, two at the antimeridian. */
std::vector<Box> around(const Box& box, double metres) {
  const double dy = metres / kMetresPerDegree;
  const double latitude = std::min(90.0, std::max(std::fabs(box.minY), std::fabs(box.maxY)) + dy);
  const double cosine = std::cos(latitude * kRadiansPerDegree);
  const double dx = cosine > 1e-6 ? std::min(360.0, dy / cosine * 1.01) : 360;
  const Box wide{box.minX - dx, box.minY - dy, box.maxX + dx, box.maxY + dy};
  std::vector<Box> boxes{wide};
  if (wide.minX < -180) boxes.push_back({wide.minX + 360, wide.minY, wide.maxX + 360, wide.maxY});
  if (wide.maxX > 180) boxes.push_back({wide.minX - 360, wide.minY, wide.maxX - 360, wide.maxY});
  return boxes;
}

GeosGeometry rectangle(Geos& geos, const Box& b) {
  return geos.own(GEOSGeom_createRectangle_r(geos.handle(), b.minX, b.minY, b.maxX, b.maxY));
}

}  // namespace

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
    const GeosGeometry box = rectangle(*geos_, right_[i]->envelope());
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
  for (const Box& box : byDistance_ ? around(left.envelope(), metres_) : std::vector<Box>{left.envelope()}) {
    const GeosGeometry window = rectangle(*geos_, box);
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
