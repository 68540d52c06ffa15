#include "metric.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "triangles.h"

namespace graticule::networks {
namespace {

double cheapest(const InputView& inputs, Span<double> costs, size_t slot) {
  double least = INFINITY;
  for (uint32_t i = inputs.first[slot]; i < inputs.first[slot + 1]; ++i) least = std::min(least, costs[inputs.list[i]]);
  return least;
}

/** Whether a weight can change when a sum over a lower node does. */
bool depends(double oldSum, double newSum, double weight) { return (oldSum == weight && weight < INFINITY) || newSum < weight; }

}  // namespace

void customise(const HierarchyView& hierarchy, const InputView& inputs, Span<double> costs, Metric& metric) {
  const size_t arcs = hierarchy.arcs();
  metric.up.resize(arcs);
  metric.down.resize(arcs);
  for (size_t a = 0; a < arcs; ++a) {
    metric.up[a] = cheapest(inputs, costs, 2 * a);
    metric.down[a] = cheapest(inputs, costs, 2 * a + 1);
  }
  double* const up = metric.up.data();
  double* const down = metric.down.data();
  const uint32_t* const head = hierarchy.head.data;
  std::vector<uint32_t> arcTo(hierarchy.nodes);
  for (uint32_t v = 0; v < hierarchy.nodes; ++v) {
    const uint32_t last = hierarchy.up[v + 1];
    if (hierarchy.up[v] == last) continue;
    for (uint32_t a = hierarchy.up[v]; a < last; ++a) arcTo[head[a]] = a;
    for (uint32_t i = hierarchy.down[v]; i < hierarchy.down[v + 1]; ++i) {
      const uint32_t below = hierarchy.downArc[i];
      const double toV = up[below];
      const double fromV = down[below];
      const uint32_t lastBelow = hierarchy.up[hierarchy.tail[below] + 1];
      for (uint32_t b = below + 1; b < lastBelow; ++b) {
        const uint32_t a = arcTo[head[b]];
        up[a] = std::min(up[a], fromV + up[b]);
        down[a] = std::min(down[a], down[b] + toV);
      }
    }
  }
}

PartialCustomisation::PartialCustomisation(const HierarchyView& hierarchy, const InputView& inputs)
    : hierarchy_(hierarchy), inputs_(inputs), queued_(hierarchy.arcs(), 0) {}

void PartialCustomisation::add(uint32_t arc) {
  if (queued_[arc] != 0) return;
  queued_[arc] = 1;
  queue_.push_back(arc);
  std::push_heap(queue_.begin(), queue_.end(), std::greater<uint32_t>());
}

PartialCustomisation::Weights PartialCustomisation::weigh(Span<double> costs, const Metric& metric, uint32_t arc) const {
  Weights weights = {cheapest(inputs_, costs, 2 * size_t{arc}), cheapest(inputs_, costs, 2 * size_t{arc} + 1)};
  eachLowerTriangle(hierarchy_, arc, [&](uint32_t toLow, uint32_t toHigh) {
    weights.up = std::min(weights.up, metric.down[toLow] + metric.up[toHigh]);
    weights.down = std::min(weights.down, metric.down[toHigh] + metric.up[toLow]);
    return false;
  });
  return weights;
}

/** Adds the arcs whose weight came from the old weight of this arc, or that the new weight makes cheaper. */
void PartialCustomisation::addDependents(const Metric& metric, uint32_t arc, Weights old, Weights now) {
  const uint32_t node = hierarchy_.tail[arc];
  const uint32_t end = hierarchy_.head[arc];
  // Heads above `end` are among those of `end`, in the same order.
  uint32_t following = hierarchy_.up[end];
  for (uint32_t b = hierarchy_.up[node]; b < hierarchy_.up[node + 1]; ++b) {
    if (b == arc) continue;
    const uint32_t other = hierarchy_.head[b];
    const bool rises = end < other;
    while (rises && hierarchy_.head[following] != other) ++following;
    const uint32_t above = rises ? following : hierarchy_.find(other, end);
    // From `end` down to the node and up to `other`, and back.
    const double there = rises ? metric.up[above] : metric.down[above];
    const double back = rises ? metric.down[above] : metric.up[above];
    const bool isAffected = depends(old.down + metric.up[b], now.down + metric.up[b], there) ||
                            depends(metric.down[b] + old.up, metric.down[b] + now.up, back);
    if (isAffected) add(above);
  }
}

size_t PartialCustomisation::run(Span<double> costs, Span<uint32_t> changed, Metric& metric) {
  for (const uint32_t input : changed) {
    if (inputs_.slot[input] != kNone) add(inputs_.slot[input] / 2);
  }
  size_t updated = 0;
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<uint32_t>());
    const uint32_t arc = queue_.back();
    queue_.pop_back();
    queued_[arc] = 0;
    const Weights now = weigh(costs, metric, arc);
    const Weights old = {metric.up[arc], metric.down[arc]};
    if (now.up == old.up && now.down == old.down) continue;
    metric.up[arc] = now.up;
    metric.down[arc] = now.down;
    ++updated;
    addDependents(metric, arc, old, now);
  }
  return updated;
}

}  // namespace graticule::networks
