#include "position_route.h"

#include <cmath>

namespace graticule::networks {
namespace {


struct Ends {
  std::vector<Seed> seeds;
  std::vector<RoutePart> parts;

  void add(uint32_t node, double cost, const RoutePart& part) {
    if (!(cost < INFINITY)) return;
    seeds.push_back({node, cost});
    parts.push_back(part);
  }

  void addNode(uint32_t node) {
    for (const Seed& seed : seeds) {
      if (seed.node == node) return;
    }
    add(node, 0, {kNone, 0, 0});
  }
};

/** Vertex of a position, or kNone between the ends of its edge. */
uint32_t vertexAt(const NetworkView& network, const EdgePosition& at) {
  if (at.share <= 0) return network.source[at.edge];
  return at.share >= 1 ? network.target[at.edge] : kNone;
}

/** Share of the cost of an edge. An edge that is closed is closed in all its parts. */
double costOf(Span<double> costs, uint32_t directed, double share) {
  return costs[directed] < INFINITY ? costs[directed] * share : INFINITY;
}

Ends listSources(const NetworkView& network, Span<double> costs, const EdgePosition& at, uint32_t vertex) {
  Ends ends;
  if (vertex != kNone) {
    for (uint32_t i = network.vertexFirst[vertex]; i < network.vertexFirst[vertex + 1]; ++i) ends.addNode(network.tailNode[network.leaving[i]]);
    return ends;
  }
  const uint32_t along = 2 * at.edge;
  ends.add(network.headNode[along], costOf(costs, along, 1 - at.share), {along, at.share, 1});
  ends.add(network.headNode[along + 1], costOf(costs, along + 1, at.share), {along + 1, at.share, 0});
  return ends;
}

Ends listTargets(const NetworkView& network, Span<double> costs, const EdgePosition& at, uint32_t vertex) {
  Ends ends;
  if (vertex != kNone) {
    for (uint32_t i = network.vertexFirst[vertex]; i < network.vertexFirst[vertex + 1]; ++i) ends.addNode(network.headNode[network.leaving[i] ^ 1]);
    return ends;
  }
  const uint32_t along = 2 * at.edge;
  ends.add(network.tailNode[along], costOf(costs, along, at.share), {along, 0, at.share});
  ends.add(network.tailNode[along + 1], costOf(costs, along + 1, 1 - at.share), {along + 1, 1, at.share});
  return ends;
}

/** The way along one edge between two of its positions. */
std::optional<PositionRoute> findDirect(Span<double> costs, const EdgePosition& from, const EdgePosition& to) {
  if (from.edge != to.edge) return std::nullopt;
  if (from.share == to.share) return PositionRoute{0, {}};
  const uint32_t directed = 2 * from.edge + (from.share < to.share ? 0 : 1);
  const double cost = costOf(costs, directed, std::fabs(to.share - from.share));
  if (!(cost < INFINITY)) return std::nullopt;
  return PositionRoute{cost, {{directed, from.share, to.share}}};
}

/** Ends of a route, and the way along one edge, which is cheaper or not. */
struct Plan {
  std::optional<PositionRoute> direct;
  Ends sources;
  Ends targets;

  bool hasEnds() const { return !sources.seeds.empty() && !targets.seeds.empty(); }
};

Plan planRoute(const NetworkView& network, const CostView& in, const EdgePosition& from, const EdgePosition& to) {
  const uint32_t start = vertexAt(network, from);
  const uint32_t end = vertexAt(network, to);
  if (start != kNone && start == end) return {PositionRoute{0, {}}, {}, {}};
  return {findDirect(in.costs, from, to), listSources(network, in.costs, from, start), listTargets(network, in.costs, to, end)};
}

}  // namespace

double findCost(const NetworkView& network, const CostView& in, RouteQuery& query, const EdgePosition& from, const EdgePosition& to) {
  const Plan plan = planRoute(network, in, from, to);
  const double direct = plan.direct ? plan.direct->cost : INFINITY;
  return plan.hasEnds() ? std::min(direct, query.run(in.metric, plan.sources.seeds, plan.targets.seeds)) : direct;
}

std::optional<PositionRoute> findRoute(const NetworkView& network, const CostView& in, RouteQuery& query, const EdgePosition& from, const EdgePosition& to) {
  const Plan plan = planRoute(network, in, from, to);
  const double direct = plan.direct ? plan.direct->cost : INFINITY;
  const double cost = plan.hasEnds() ? query.run(in.metric, plan.sources.seeds, plan.targets.seeds) : INFINITY;
  if (!(cost < direct)) return plan.direct;
  const Way way = query.unpack(in.metric, in.costs);
  PositionRoute route{cost, {}};
  const auto add = [&](const RoutePart& part) {
    if (part.directed != kNone) route.parts.push_back(part);
  };
  add(plan.sources.parts[way.source]);
  for (const uint32_t input : way.inputs) {
    const double start = input % 2;
    if (input < 2 * network.edges) add({input, start, 1 - start});
  }
  add(plan.targets.parts[way.target]);
  return route;
}

}  // namespace graticule::networks
