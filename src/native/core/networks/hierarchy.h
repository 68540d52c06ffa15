// Contraction hierarchy without weights: the chordal graph that contraction in a given order creates.
#pragma once

#include <utility>
#include <vector>

#include "spans.h"

namespace graticule::networks {

/**
 * Nodes are numbered in the order of contraction. Arc a connects `tail[a]` with the higher node `head[a]`. The arcs of
 * a tail are consecutive, and their heads ascend.
 */
struct HierarchyView {
  uint32_t nodes = 0;
  /** Arcs up from node v: up[v] to up[v + 1]. */
  Span<uint32_t> up;
  Span<uint32_t> head;
  Span<uint32_t> tail;
  /** Arcs down from node v, by ascending tail: downArc[down[v]] to downArc[down[v + 1]], with their tails. */
  Span<uint32_t> down;
  Span<uint32_t> downArc;
  Span<uint32_t> downTail;

  size_t arcs() const { return head.size; }
  /** The lowest neighbour above, to which all other neighbours above are connected; kNone for a root. */
  uint32_t parent(uint32_t node) const { return up[node] == up[node + 1] ? kNone : head[up[node]]; }
  /** The arc between two nodes, or kNone. */
  uint32_t find(uint32_t low, uint32_t high) const;
};

struct Hierarchy {
  std::vector<uint32_t> up;
  std::vector<uint32_t> head;
  std::vector<uint32_t> tail;
  std::vector<uint32_t> down;
  std::vector<uint32_t> downArc;
  std::vector<uint32_t> downTail;

  HierarchyView view() const;
};

/** Contracts the nodes in ascending order. Throws `NetworkFault` beyond 2^30 arcs. */
Hierarchy contract(uint32_t nodes, const std::vector<std::pair<uint32_t, uint32_t>>& edges);

}  // namespace graticule::networks
