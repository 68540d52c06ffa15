#include "dissection.h"

#include <algorithm>
#include <cmath>

#include "flow_cut.h"
#include "spans.h"

namespace graticule::networks {
namespace {

/** Below this number of nodes, the order is by degree. */
constexpr uint32_t kSmall = 8;
constexpr double kGrid = 1 << 24;

using Neighbours = std::vector<std::vector<uint32_t>>;

Neighbours collectNeighbours(size_t nodes, const std::vector<std::pair<uint32_t, uint32_t>>& edges) {
  Neighbours neighbours(nodes);
  for (const auto& [a, b] : edges) {
    if (a == b) continue;
    neighbours[a].push_back(b);
    neighbours[b].push_back(a);
  }
  for (auto& list : neighbours) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return neighbours;
}

void insertSorted(std::vector<uint32_t>& list, uint32_t value) {
  const auto at = std::lower_bound(list.begin(), list.end(), value);
  if (at == list.end() || *at != value) list.insert(at, value);
}

void eraseSorted(std::vector<uint32_t>& list, uint32_t value) {
  list.erase(std::lower_bound(list.begin(), list.end(), value));
}

/**
 * Contracts nodes of at most two neighbours. Each round contracts nodes that do not touch each other, so a chain of n
 * nodes takes log n rounds, which keeps the elimination tree low.
 */
void contractChains(Neighbours& neighbours, std::vector<uint8_t>& contracted, std::vector<uint32_t>& order) {
  std::vector<uint32_t> candidates;
  for (uint32_t v = 0; v < neighbours.size(); ++v) {
    if (neighbours[v].size() <= 2) candidates.push_back(v);
  }
  std::vector<uint32_t> touched(neighbours.size(), 0);
  std::vector<uint32_t> following;
  for (uint32_t round = 1; !candidates.empty(); ++round) {
    following.clear();
    for (const uint32_t v : candidates) {
      if (contracted[v] != 0 || neighbours[v].size() > 2) continue;
      if (touched[v] == round) {
        following.push_back(v);
        continue;
      }
      contracted[v] = 1;
      order.push_back(v);
      const std::vector<uint32_t> around = std::move(neighbours[v]);
      neighbours[v].clear();
      for (const uint32_t w : around) {
        touched[w] = round;
        eraseSorted(neighbours[w], v);
      }
      if (around.size() == 2) {
        insertSorted(neighbours[around[0]], around[1]);
        insertSorted(neighbours[around[1]], around[0]);
      }
      for (const uint32_t w : around) {
        if (neighbours[w].size() <= 2) following.push_back(w);
      }
    }
    std::sort(following.begin(), following.end());
    following.erase(std::unique(following.begin(), following.end()), following.end());
    candidates.swap(following);
  }
}

/** Part of the graph whose order is still to be found, or nodes that follow all parts before them. */
struct Piece {
  std::vector<uint32_t> nodes;
  bool isOrdered;
};

class Dissector {
 public:
  Dissector(const Neighbours& neighbours, const std::vector<Position>& positions, std::vector<uint32_t>& order)
      : neighbours_(neighbours), order_(order), local_(neighbours.size(), kNone) {
    placeOnGrid(positions);
  }

  void run(std::vector<uint32_t> nodes) {
    std::vector<Piece> stack;
    stack.push_back({std::move(nodes), false});
    while (!stack.empty()) {
      const Piece piece = std::move(stack.back());
      stack.pop_back();
      if (piece.isOrdered || piece.nodes.size() <= kSmall) {
        append(piece.nodes);
      } else {
        split(piece.nodes, stack);
      }
    }
  }

 private:
  void placeOnGrid(const std::vector<Position>& positions) {
    double minX = INFINITY, minY = INFINITY, maxX = -INFINITY, maxY = -INFINITY;
    for (const Position& p : positions) {
      minX = std::min(minX, p.x);
      maxX = std::max(maxX, p.x);
      minY = std::min(minY, p.y);
      maxY = std::max(maxY, p.y);
    }
    const double width = std::max({maxX - minX, maxY - minY, 1e-300});
    for (const Position& p : positions) {
      x_.push_back(static_cast<int32_t>((p.x - minX) / width * kGrid));
      y_.push_back(static_cast<int32_t>((p.y - minY) / width * kGrid));
    }
  }

  /** Appends nodes, those of the fewest neighbours first. */
  void append(std::vector<uint32_t> nodes) {
    std::sort(nodes.begin(), nodes.end(), [&](uint32_t a, uint32_t b) {
      const size_t m = neighbours_[a].size(), n = neighbours_[b].size();
      return m != n ? m < n : a < b;
    });
    order_.insert(order_.end(), nodes.begin(), nodes.end());
  }

  void split(const std::vector<uint32_t>& nodes, std::vector<Piece>& stack) {
    for (uint32_t i = 0; i < nodes.size(); ++i) local_[nodes[i]] = i;
    const bool isConnected = splitComponents(nodes, stack);
    if (isConnected) splitConnected(nodes, stack);
    for (const uint32_t v : nodes) local_[v] = kNone;
  }

  /** Pushes the components of the nodes, unless there is only one. */
  bool splitComponents(const std::vector<uint32_t>& nodes, std::vector<Piece>& stack) {
    std::vector<uint8_t> seen(nodes.size(), 0);
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      if (seen[i] != 0) continue;
      std::vector<uint32_t> component = {nodes[i]};
      seen[i] = 1;
      for (size_t k = 0; k < component.size(); ++k) {
        for (const uint32_t w : neighbours_[component[k]]) {
          const uint32_t j = local_[w];
          if (j == kNone || seen[j] != 0) continue;
          seen[j] = 1;
          component.push_back(w);
        }
      }
      if (component.size() == nodes.size()) return true;
      std::sort(component.begin(), component.end());
      stack.push_back({std::move(component), false});
    }
    return false;
  }

  void splitConnected(const std::vector<uint32_t>& nodes, std::vector<Piece>& stack) {
    PlainGraph graph;
    graph.first.push_back(0);
    for (const uint32_t v : nodes) {
      for (const uint32_t w : neighbours_[v]) {
        if (local_[w] != kNone) graph.heads.push_back(local_[w]);
      }
      graph.first.push_back(static_cast<uint32_t>(graph.heads.size()));
      graph.x.push_back(x_[v]);
      graph.y.push_back(y_[v]);
    }
    const std::vector<Part> parts = separate(graph);
    Piece pieces[3] = {{{}, false}, {{}, false}, {{}, true}};
    for (uint32_t i = 0; i < nodes.size(); ++i) pieces[static_cast<size_t>(parts[i])].nodes.push_back(nodes[i]);
    // The last one is popped first.
    for (int i = 2; i >= 0; --i) stack.push_back(std::move(pieces[i]));
  }

  const Neighbours& neighbours_;
  std::vector<uint32_t>& order_;
  std::vector<uint32_t> local_;
  std::vector<int32_t> x_;
  std::vector<int32_t> y_;
};

}  // namespace

std::vector<uint32_t> dissect(const std::vector<Position>& positions, const std::vector<std::pair<uint32_t, uint32_t>>& edges) {
  Neighbours neighbours = collectNeighbours(positions.size(), edges);
  std::vector<uint8_t> contracted(positions.size(), 0);
  std::vector<uint32_t> order;
  order.reserve(positions.size());
  contractChains(neighbours, contracted, order);
  std::vector<uint32_t> core;
  for (uint32_t v = 0; v < positions.size(); ++v) {
    if (contracted[v] == 0) core.push_back(v);
  }
  Dissector(neighbours, positions, order).run(std::move(core));
  return order;
}

}  // namespace graticule::networks
