// Small separators of road graphs by inertial flow.
#pragma once

#include <cstdint>
#include <vector>

namespace graticule::networks {

/** Undirected graph without loops; the neighbours of v are `heads[first[v]]` to `heads[first[v + 1]]`. */
struct PlainGraph {
  std::vector<uint32_t> first;
  std::vector<uint32_t> heads;
  /** Positions on an integer grid, so that all processors sort them equally. */
  std::vector<int32_t> x;
  std::vector<int32_t> y;

  uint32_t size() const { return static_cast<uint32_t>(x.size()); }
};

/** The part of each node: one of two sides without an edge between them, or the separator. */
enum class Part : uint8_t { Left, Right, Separator };

/**
 * Separates a connected graph of at least two nodes. In each of four directions, a maximum flow connects the first
 * quarter of the nodes with the last quarter. The best minimum cut wins.
 */
std::vector<Part> separate(const PlainGraph& graph);

}  // namespace graticule::networks
