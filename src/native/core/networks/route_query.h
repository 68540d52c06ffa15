// Cheapest ways between nodes by the elimination tree of a hierarchy.
#pragma once

#include <vector>

#include "metric.h"

namespace graticule::networks {

/** Node where a way can start or end, with the cost of reaching it. */
struct Seed {
  uint32_t node;
  double cost;
};

struct Way {
  double cost;
  /** Indexes of the seeds that the way uses. */
  uint32_t source;
  uint32_t target;
  /** Inputs in the order of travel. */
  std::vector<uint32_t> inputs;
};

/** Keeps its memory between queries. One query runs at a time. */
class RouteQuery {
 public:
  explicit RouteQuery(const HierarchyView& hierarchy, const InputView& inputs);

  /** Returns the least cost, which is infinite without a way. Both lists have at least one seed. */
  double run(const MetricView& metric, Span<Seed> sources, Span<Seed> targets);
  /** The way of the last query, which found one. `costs` are those of the inputs. */
  Way unpack(const MetricView& metric, Span<double> costs);

 private:
  /** Search from one end up the elimination tree. */
  struct Side {
    std::vector<double> distance;
    /** Arc over which a node was reached; kNone for a seed. */
    std::vector<uint32_t> arc;
    std::vector<uint32_t> climbers;
    std::vector<Seed> seeds;
  };

  void seed(Side& side, Span<Seed> seeds);
  void relax(Side& side, uint32_t node, Span<double> weights, double limit);
  void unpackSlot(const MetricView& metric, Span<double> costs, uint32_t slot, std::vector<uint32_t>& inputs);

  HierarchyView hierarchy_;
  InputView inputs_;
  Side forward_;
  Side backward_;
  uint32_t meeting_ = kNone;
  double cost_ = 0;
  std::vector<uint32_t> stack_;
};

}  // namespace graticule::networks
