// Finds the edge of a network that is nearest to a position.
#pragma once

#include <optional>

#include "../geometry/box_tree.h"
#include "network.h"

namespace graticule::networks {

/** Position on an edge, as a share of its length from the start of its geometry. */
struct EdgePosition {
  uint32_t edge;
  double share;
};

struct LocatedPosition {
  EdgePosition at;
  NetworkPoint point;
  /** In metres for longitudes and latitudes, otherwise in units of the plane. */
  double distance;
};

class EdgeLocator {
 public:
  explicit EdgeLocator(const NetworkView& network);

  /**
   * Returns the nearest position within a distance. At the same distance, the edge with the lowest number wins. Edges
   * for which `isUsable` is 0 are skipped; an empty span allows all edges.
   */
  std::optional<LocatedPosition> find(const NetworkPoint& point, double reach, Span<uint8_t> isUsable) const;

 private:
  struct Nearest;

  void search(const NetworkPoint& point, Span<uint8_t> isUsable, Nearest& nearest) const;
  double shareAt(uint32_t edge, uint32_t segment, double part) const;

  const NetworkView& network_;
  BoxTree tree_;
};

/** Point of a position. */
NetworkPoint locate(const NetworkView& network, const EdgePosition& at);

/** Appends the geometry of an edge between two shares of its length, in the direction from the first to the second. */
void appendGeometry(const NetworkView& network, uint32_t edge, double from, double to, std::vector<NetworkPoint>& points);

}  // namespace graticule::networks
