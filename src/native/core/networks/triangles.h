// Pairs of arcs from one lower node to both ends of an arc.
#pragma once

#include "hierarchy.h"

namespace graticule::networks {

/** Calls `visit(toLow, toHigh)` for the arcs of each triangle below an arc, until it returns true. */
template <typename Visit>
void eachLowerTriangle(const HierarchyView& hierarchy, uint32_t arc, Visit&& visit) {
  const uint32_t* const tails = hierarchy.downTail.data;
  uint32_t a = hierarchy.down[hierarchy.tail[arc]];
  uint32_t b = hierarchy.down[hierarchy.head[arc]];
  const uint32_t lastA = hierarchy.down[hierarchy.tail[arc] + 1];
  const uint32_t lastB = hierarchy.down[hierarchy.head[arc] + 1];
  while (a < lastA && b < lastB) {
    if (tails[a] == tails[b]) {
      if (visit(hierarchy.downArc[a], hierarchy.downArc[b])) return;
      ++a;
      ++b;
    } else {
      // Without a branch, because either list can be ahead.
      const bool isBehind = tails[a] < tails[b];
      a += isBehind ? 1 : 0;
      b += isBehind ? 0 : 1;
    }
  }
}

}  // namespace graticule::networks
