// Weights of a hierarchy: for each arc the cost of the cheapest way between its ends over lower nodes.
#pragma once

#include <vector>

#include "hierarchy.h"

namespace graticule::networks {

/**
 * The inputs of a hierarchy are the directed connections of the original graph. Slot 2a contains the inputs up along
 * arc a, and slot 2a + 1 the inputs down: list[first[slot]] to list[first[slot + 1]].
 */
struct InputView {
  Span<uint32_t> first;
  Span<uint32_t> list;
  /** Slot of each input; kNone for a loop. */
  Span<uint32_t> slot;
};

/** Cost of each arc up and down; infinite without a way. */
struct MetricView {
  Span<double> up;
  Span<double> down;
};

struct Metric {
  std::vector<double> up;
  std::vector<double> down;

  MetricView view() const {
    MetricView view;
    view.up = up;
    view.down = down;
    return view;
  }
};

/** Calculates all weights from the costs of the inputs. Infinite costs close an input. */
void customise(const HierarchyView& hierarchy, const InputView& inputs, Span<double> costs, Metric& metric);

/** Changes the weights after costs have changed. Keeps its memory between calls. */
class PartialCustomisation {
 public:
  explicit PartialCustomisation(const HierarchyView& hierarchy, const InputView& inputs);

  /** `changed` lists the inputs with other costs. Returns the number of arcs with another weight. */
  size_t run(Span<double> costs, Span<uint32_t> changed, Metric& metric);

 private:
  struct Weights {
    double up;
    double down;
  };

  void add(uint32_t arc);
  Weights weigh(Span<double> costs, const Metric& metric, uint32_t arc) const;
  void addDependents(const Metric& metric, uint32_t arc, Weights old, Weights now);

  HierarchyView hierarchy_;
  InputView inputs_;
  /** Heap of arcs, the lowest first: an arc depends only on arcs with lower tails. */
  std::vector<uint32_t> queue_;
  std::vector<uint8_t> queued_;
};

}  // namespace graticule::networks
