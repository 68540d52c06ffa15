#include "nearest.h"

#include <algorithm>
#include <cmath>

#include "../analytics/ground_box.h"

namespace graticule {
namespace {

/** More than half of any great ellipse of the Earth. */
constexpr double kFarthestMetres = 20'100'000;
/** A first radius on the ground. */
constexpr double kFirstMetres = 1000;

bool nearer(const NearestSearch::Neighbour& a, const NearestSearch::Neighbour& b) {
  return a.distance < b.distance || (a.distance == b.distance && a.index < b.index);
}

/** Adds one to the nearest `count`, which are in their order. */
void keepNearest(std::vector<NearestSearch::Neighbour>& best, const NearestSearch::Neighbour& one, uint32_t count) {
  if (best.size() >= count && !nearer(one, best.back())) return;
  best.insert(std::upper_bound(best.begin(), best.end(), one, nearer), one);
  if (best.size() > count) best.pop_back();
}

}  // namespace

std::optional<double> distanceBetween(Surface surface, SpatialOperand& a, SpatialOperand& b) {
  if (surface == Surface::Plane) return planarDistance(a, b);
  return geodesicDistance(a.sphere(kRadiansPerDegree), b.sphere(kRadiansPerDegree), CrsMeasure{});
}

void NearestSearch::add(const uint8_t* blob, size_t size) {
  auto operand = std::make_unique<SpatialOperand>(geos_);
  const bool usable = blob != nullptr && operand->readCopy(blob, size) == ReadStatus::Ok && !operand->empty();
  all_.push_back(usable ? std::move(operand) : nullptr);
}

void NearestSearch::build() {
  turns_.assign(all_.size(), 0);
  for (uint32_t i = 0; i < all_.size(); ++i) {
    if (all_[i] != nullptr) tree_.add(all_[i]->envelope(), i);
  }
  tree_.build();
  built_ = true;
}

std::vector<uint32_t> NearestSearch::within(const Box& box, double radius) const {
  std::vector<uint32_t> indices;
  const Box wide{box.minX - radius, box.minY - radius, box.maxX + radius, box.maxY + radius};
  for (const Box& b : surface_ == Surface::Ground ? groundBoxes(box, radius) : std::vector<Box>{wide}) {
    tree_.query(b, [&](uint32_t i) { indices.push_back(i); });
  }
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  return indices;
}

/** No geometry is further away. */
double NearestSearch::farthest(const Box& box) const {
  if (surface_ == Surface::Ground) return kFarthestMetres;
  Box both = tree_.extent();
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

/** Returns all geometries within `reach`, among the geometries within a radius. */
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
  if (!built_) build();
  SpatialOperand from(geos_);
  const bool usable = blob != nullptr && from.read(blob, size) == ReadStatus::Ok && !from.empty() && from.envelope().valid();
  if (!usable || tree_.size() == 0) return {};
  if (count >= tree_.size()) return allWithin(from, std::min(reach, farthest(from.envelope())), reach);
  return surface_ == Surface::Plane ? inPlane(from, count, reach) : onGround(from, count, reach);
}

/** By the gaps between envelopes, until none is left that could be nearer. */
std::vector<NearestSearch::Neighbour> NearestSearch::inPlane(SpatialOperand& from, uint32_t count, double reach) {
  std::vector<Neighbour> best;
  ++turn_;
  tree_.nearest(from.envelope(), reach, [&](uint32_t i) {
    const std::optional<double> distance = measure(from, i);
    if (distance && *distance <= reach) keepNearest(best, {i, *distance}, count);
    return best.size() >= count ? best.back().distance : reach;
  });
  return best;
}

/** Searches within a radius that grows until no geometry outside can be nearer. */
std::vector<NearestSearch::Neighbour> NearestSearch::onGround(SpatialOperand& from, uint32_t count, double reach) {
  std::vector<Neighbour> best;
  const double most = std::min(reach, kFarthestMetres);
  double radius = radius_ > 0 ? radius_ : kFirstMetres;
  ++turn_;
  for (;; radius *= 2) {
    radius = std::min(radius, most);
    for (const uint32_t i : within(from.envelope(), radius)) {
      if (turns_[i] == turn_) continue;
      const std::optional<double> distance = measure(from, i);
      if (distance && *distance <= reach) keepNearest(best, {i, *distance}, count);
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
