// Order of contraction of a road graph by nested dissection.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace graticule::networks {

struct Position {
  double x;
  double y;
};

/**
 * Returns all nodes in the order of their contraction. Equal inputs give equal orders. Loops and repeated edges have no
 * effect.
 */
std::vector<uint32_t> dissect(const std::vector<Position>& positions, const std::vector<std::pair<uint32_t, uint32_t>>& edges);

}  // namespace graticule::networks
