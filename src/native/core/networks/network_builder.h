// Builds network files from edges and turn restrictions.
#pragma once

#include <vector>

#include "network.h"

namespace graticule::networks {

/** Turn from one edge to another at a vertex of both. */
struct TurnRule {
  enum class Kind : uint8_t { Prohibited, Required, Penalty };

  Kind kind;
  uint32_t from;
  uint32_t to;
  uint32_t via;
  /** Cost of the turn, for penalties. */
  double penalty;
};

struct NetworkInput {
  uint32_t vertices = 0;
  bool isGeographic = false;
  Span<uint32_t> source;
  Span<uint32_t> target;
  /** Cost in the direction of the geometry, then in the opposite direction, of each edge. Negative: closed. */
  Span<double> costs;
  Span<uint32_t> pointFirst;
  Span<NetworkPoint> points;
  std::vector<TurnRule> rules;
  IdView edgeIds;
  IdView vertexIds;
};

/** Nodes and turns of a network: vertices with turn rules have a node for each end of each directed edge. */
struct TurnGraph {
  struct Turn {
    uint32_t from;
    uint32_t to;
    double cost;
  };

  uint32_t nodes = 0;
  std::vector<uint32_t> vertexOfNode;
  std::vector<uint32_t> tailNode;
  std::vector<uint32_t> headNode;
  std::vector<Turn> turns;
  std::vector<uint32_t> vertexFirst;
  std::vector<uint32_t> leaving;
};

/** Throws `NetworkFault` if a rule names edges that do not meet at its vertex. */
TurnGraph expandTurns(const NetworkInput& input);

/** Returns the bytes of the file. Equal inputs give equal bytes. Throws `NetworkFault` for invalid input. */
std::vector<uint8_t> buildNetwork(const NetworkInput& input);

}  // namespace graticule::networks
