#include "route_query.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "triangles.h"

namespace graticule::networks {
namespace {

/** Moves the climbers at a node to its parent, and removes duplicates. */
void climb(std::vector<uint32_t>& climbers, uint32_t node, uint32_t parent) {
  size_t kept = 0;
  for (const uint32_t at : climbers) {
    const uint32_t next = at == node ? parent : at;
    if (next == kNone || std::find(climbers.begin(), climbers.begin() + kept, next) != climbers.begin() + kept) continue;
    climbers[kept++] = next;
  }
  climbers.resize(kept);
}

uint32_t lowest(const std::vector<uint32_t>& climbers) {
  uint32_t least = kNone;
  for (const uint32_t at : climbers) least = std::min(least, at);
  return least;
}

uint32_t findSeed(const std::vector<Seed>& seeds, uint32_t node) {
  uint32_t best = kNone;
  for (uint32_t i = 0; i < seeds.size(); ++i) {
    if (seeds[i].node == node && (best == kNone || seeds[i].cost < seeds[best].cost)) best = i;
  }
  return best;
}

}  // namespace

RouteQuery::RouteQuery(const HierarchyView& hierarchy, const InputView& inputs) : hierarchy_(hierarchy), inputs_(inputs) {
  for (Side* side : {&forward_, &backward_}) {
    side->distance.assign(hierarchy.nodes, INFINITY);
    side->arc.assign(hierarchy.nodes, kNone);
  }
}

void RouteQuery::seed(Side& side, Span<Seed> seeds) {
  side.seeds.assign(seeds.begin(), seeds.end());
  side.climbers.clear();
  for (const Seed& each : seeds) {
    if (each.cost < side.distance[each.node]) side.distance[each.node] = each.cost;
    side.arc[each.node] = kNone;
    if (std::find(side.climbers.begin(), side.climbers.end(), each.node) == side.climbers.end()) side.climbers.push_back(each.node);
  }
}

void RouteQuery::relax(Side& side, uint32_t node, Span<double> weights, double limit) {
  const double base = side.distance[node];
  side.distance[node] = INFINITY;
  if (!(base < limit)) return;
  const uint32_t* const head = hierarchy_.head.data;
  double* const distance = side.distance.data();
  const uint32_t last = hierarchy_.up[node + 1];
  for (uint32_t a = hierarchy_.up[node]; a < last; ++a) {
    const double through = base + weights[a];
    if (through >= distance[head[a]]) continue;
    distance[head[a]] = through;
    side.arc[head[a]] = a;
  }
}

double RouteQuery::run(const MetricView& metric, Span<Seed> sources, Span<Seed> targets) {
  seed(forward_, sources);
  seed(backward_, targets);
  cost_ = INFINITY;
  meeting_ = kNone;
  // Every node that a search reaches is an ancestor of a seed, so both sides are clean after the last climber.
  for (;;) {
    const uint32_t left = lowest(forward_.climbers);
    const uint32_t right = lowest(backward_.climbers);
    const uint32_t node = std::min(left, right);
    if (node == kNone) break;
    const uint32_t parent = hierarchy_.parent(node);
    if (left == right) {
      const double through = forward_.distance[node] + backward_.distance[node];
      if (through < cost_) {
        cost_ = through;
        meeting_ = node;
      }
    }
    if (left == node) {
      relax(forward_, node, metric.up, cost_);
      climb(forward_.climbers, node, parent);
    }
    if (right == node) {
      relax(backward_, node, metric.down, cost_);
      climb(backward_.climbers, node, parent);
    }
  }
  return cost_;
}

/** Appends the inputs of the way over an arc: up for slot 2a, down for slot 2a + 1. */
void RouteQuery::unpackSlot(const MetricView& metric, Span<double> costs, uint32_t slot, std::vector<uint32_t>& inputs) {
  stack_.assign(1, slot);
  while (!stack_.empty()) {
    const uint32_t next = stack_.back();
    stack_.pop_back();
    const uint32_t arc = next / 2;
    const bool rises = next % 2 == 0;
    const double weight = rises ? metric.up[arc] : metric.down[arc];
    uint32_t found = kNone;
    for (uint32_t i = inputs_.first[next]; i < inputs_.first[next + 1] && found == kNone; ++i) {
      if (costs[inputs_.list[i]] == weight) found = inputs_.list[i];
    }
    if (found != kNone) {
      inputs.push_back(found);
      continue;
    }
    bool isUnpacked = false;
    eachLowerTriangle(hierarchy_, arc, [&](uint32_t toLow, uint32_t toHigh) {
      const uint32_t first = rises ? toLow : toHigh;
      const uint32_t second = rises ? toHigh : toLow;
      // The same sum as in the customisation, so it is equal to the last bit.
      if (metric.down[first] + metric.up[second] != weight) return false;
      stack_.push_back(2 * second);
      stack_.push_back(2 * first + 1);
      isUnpacked = true;
      return true;
    });
    if (!isUnpacked) throw std::logic_error("a weight of the hierarchy has no origin");
  }
}

Way RouteQuery::unpack(const MetricView& metric, Span<double> costs) {
  Way way{cost_, kNone, kNone, {}};
  std::vector<uint32_t> slots;
  uint32_t start = meeting_;
  for (; forward_.arc[start] != kNone; start = hierarchy_.tail[forward_.arc[start]]) slots.push_back(2 * forward_.arc[start]);
  std::reverse(slots.begin(), slots.end());
  uint32_t end = meeting_;
  for (; backward_.arc[end] != kNone; end = hierarchy_.tail[backward_.arc[end]]) slots.push_back(2 * backward_.arc[end] + 1);
  way.source = findSeed(forward_.seeds, start);
  way.target = findSeed(backward_.seeds, end);
  if (way.source == kNone || way.target == kNone) throw std::logic_error("a route has no ends");
  for (const uint32_t slot : slots) unpackSlot(metric, costs, slot, way.inputs);
  return way;
}

}  // namespace graticule::networks
