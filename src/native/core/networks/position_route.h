// Routes between positions on edges.
#pragma once

#include <optional>

#include "edge_locator.h"
#include "route_query.h"

namespace graticule::networks {

/** Part of a route along one directed edge, from one share of its length to another, both counted from the start of its geometry. */
struct RoutePart {
  uint32_t directed;
  double from;
  double to;
};

struct PositionRoute {
  double cost;
  std::vector<RoutePart> parts;
};

/** Costs of the inputs, and the weights of the arcs for these costs. */
struct CostView {
  Span<double> costs;
  MetricView metric;
};

/**
 * Returns the cheapest route, or nothing if there is none. A position at the end of an edge is at the vertex, from which
 * all edges of the vertex can be used. A position elsewhere can leave in the open directions of its edge only.
 */
std::optional<PositionRoute> findRoute(const NetworkView& network, const CostView& in, RouteQuery& query, const EdgePosition& from, const EdgePosition& to);

/** Returns the cost of `findRoute`; infinite without a route. */
double findCost(const NetworkView& network, const CostView& in, RouteQuery& query, const EdgePosition& from, const EdgePosition& to);

}  // namespace graticule::networks
