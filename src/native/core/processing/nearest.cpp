#include "nearest.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "../analytics/ground_box.h"

namespace graticule {
namespace {

/** More than half of any great ellipse of the Earth. */
constexpr double kFarthestMetres = 20'100'000;
/** A first radius on the ground. */
constexpr double kFirstMetres = 1000;

/** The least distance that two envelopes leave open. */
double gap(const Box& a, const Box& b) {
  const double dx = std::max({0.0, a.minX - b.maxX, b.minX - a.maxX});
  const double dy = std::max({0.0, a.minY - b.maxY, b.minY - a.maxY});
  return std::hypot(dx, dy);
}

bool nearer(const NearestSearch::Neighbour& a, const NearestSearch::Neighbour& b) {
  return a.distance < b.distance || (a.distance == b.distance && a.index < b.index);
}

}  // namespace

std::optional<double> distanceBetween(Surface surface, SpatialOperand& a, SpatialOperand& b) {
  if (surface == Surface::Plane) return planarDistance(a, b);
  return geodesicDistance(a.sphere(kRadiansPerDegree), b.sphere(kRadiansPerDegree), CrsMeasure{});
}

NearestSearch::~NearestSearch() {
  if (tree_ != nullptr) GEOSSTRtree_destroy_r(geos_->handle(), tree_);
}

void NearestSearch::add(const uint8_t* blob, size_t size) {
  auto operand = std::make_unique<SpatialOperand>(geos_);
  const bool usable = blob != nullptr && operand->readCopy(blob, size) == ReadStatus::Ok && !operand->empty();
  all_.push_back(usable ? std::move(operand) : nullptr);
}

void NearestSearch::build() {
  turns_.assign(all_.size(), 0);
  tree_ = GEOSSTRtree_create_r(geos_->handle(), 10);
  if (tree_ == nullptr) throw std::bad_alloc();
  for (size_t i = 0; i < all_.size(); ++i) {
    if (all_[i] == nullptr || !all_[i]->envelope().valid()) continue;
    const Box& box = all_[i]->envelope();
    const GeosGeometry area = rectangleOf(*geos_, box);
    if (area == nullptr) continue;
    GEOSSTRtree_insert_r(geos_->handle(), tree_, area.get(), reinterpret_cast<void*>(i));
    extent_.add(box.minX, box.minY);
    extent_.add(box.maxX, box.maxY);
    ++usable_;
  }
}

std::vector<uint32_t> NearestSearch::within(const Box& box, double radius) const {
  std::vector<uint32_t> indices;
  const auto take = [](void* item, void* list) {
    static_cast<std::vector<uint32_t>*>(list)->push_back(static_cast<uint32_t>(reinterpret_cast<size_t>(item)));
  };
  const Box wide{box.minX - radius, box.minY - radius, box.maxX + radius, box.maxY + radius};
  for (const Box& b : surface_ == Surface::Ground ? groundBoxes(box, radius) : std::vector<Box>{wide}) {
    const GeosGeometry window = rectangleOf(*geos_, b);
    if (window != nullptr) GEOSSTRtree_query_r(geos_->handle(), tree_, window.get(), take, &indices);
  }
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return indices;
}

/** No geometry is further away. */
double NearestSearch::farthest(const Box& box) const {
  if (surface_ == Surface::Ground) return kFarthestMetres;
  Box both = extent_;
  both.add(box.minX, box.minY);
  both.add(box.maxX, box.maxY);
  return std::hypot(both.maxX - both.minX, both.maxY - both.minY);
}

std::optional<double> NearestSearch::measure(SpatialOperand& from, uint32_t i) {
  // Preparing a geometry pays from its second meeting on.
  all_[i]->lasting = turns_[i] != 0;
  turns_[i] = turn_;
  return distanceBetween(surface_, from, *all_[i]);
}

/** All that are no further than `reach`, among those within a radius. */
std::vector<NearestSearch::Neighbour> NearestSearch::allWithin(SpatialOperand& from, double radius, double reach) {
  std::vector<Neighbour> all;
  ++turn_;
  for (const uint32_t i : within(from.envelope(), radius)) {
    const std::optional<double> distance = measure(from, i);
    if (distance && *distance <= reach) all.push_back({i, *distance});
  }
  std::sort(all.begin(), all.end(), nearer);
  return all;
}

std::vector<NearestSearch::Neighbour> NearestSearch::search(const uint8_t* blob, size_t size, uint32_t count, double reach) {
  SpatialOperand from(geos_);
  std::vector<Neighbour> best;
  const bool usable = blob != nullptr && from.read(blob, size) == ReadStatus::Ok && !from.empty() && from.envelope().valid();
  if (!usable || usable_ == 0) return best;
  const double most = std::min(reach, farthest(from.envelope()));
  if (count >= usable_) return allWithin(from, most, reach);
  double radius = radius_ > 0 ? radius_ : surface_ == Surface::Ground ? kFirstMetres : most / std::sqrt(static_cast<double>(usable_));
  ++turn_;
  for (;; radius *= 2) {
    radius = std::min(radius, most);
    for (const uint32_t i : within(from.envelope(), radius)) {
      if (turns_[i] == turn_) continue;
      const bool full = best.size() >= count;
      const bool far = surface_ == Surface::Plane && full && gap(from.envelope(), all_[i]->envelope()) > best.back().distance;
      if (far) continue;
      const std::optional<double> distance = measure(from, i);
      if (!distance || *distance > reach) continue;
      const Neighbour neighbour{i, *distance};
      if (full && !nearer(neighbour, best.back())) continue;
      best.insert(std::upper_bound(best.begin(), best.end(), neighbour, nearer), neighbour);
      if (best.size() > count) best.pop_back();
    }
    const bool sure = best.size() >= count && best.back().distance <= radius;
    if (sure || !(radius < most)) break;
    // Then the next look is the last one.
    if (best.size() >= count) radius = best.back().distance / 2;
  }
  if (best.size() >= count) radius_ = best.back().distance;
  return best;
}

}  // namespace graticule
