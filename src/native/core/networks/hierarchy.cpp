#include "hierarchy.h"

#include <algorithm>
#include <iterator>

#include "network_fault.h"

namespace graticule::networks {
namespace {

/** Arcs have two directions, which have numbers as well. */
constexpr size_t kMaxArcs = size_t{1} << 30;

void addDownArcs(uint32_t nodes, Hierarchy& hierarchy) {
  hierarchy.down.assign(nodes + 1, 0);
  for (const uint32_t h : hierarchy.head) ++hierarchy.down[h + 1];
  for (uint32_t v = 0; v < nodes; ++v) hierarchy.down[v + 1] += hierarchy.down[v];
  std::vector<uint32_t> fill(hierarchy.down.begin(), hierarchy.down.end() - 1);
  hierarchy.downArc.resize(hierarchy.head.size());
  hierarchy.downTail.resize(hierarchy.head.size());
  for (uint32_t a = 0; a < hierarchy.head.size(); ++a) {
    const uint32_t at = fill[hierarchy.head[a]]++;
    hierarchy.downArc[at] = a;
    hierarchy.downTail[at] = hierarchy.tail[a];
  }
}

}  // namespace

uint32_t HierarchyView::find(uint32_t low, uint32_t high) const {
  const uint32_t* first = head.data + up[low];
  const uint32_t* last = head.data + up[low + 1];
  const uint32_t* at = std::lower_bound(first, last, high);
  return at == last || *at != high ? kNone : static_cast<uint32_t>(at - head.data);
}

HierarchyView Hierarchy::view() const {
  HierarchyView view;
  view.nodes = static_cast<uint32_t>(up.size() - 1);
  view.up = up;
  view.head = head;
  view.tail = tail;
  view.down = down;
  view.downArc = downArc;
  view.downTail = downTail;
  return view;
}

Hierarchy contract(uint32_t nodes, const std::vector<std::pair<uint32_t, uint32_t>>& edges) {
  std::vector<std::vector<uint32_t>> above(nodes);
  for (const auto& [a, b] : edges) {
    if (a != b) above[std::min(a, b)].push_back(std::max(a, b));
  }
  Hierarchy hierarchy;
  hierarchy.up.reserve(nodes + 1);
  hierarchy.up.push_back(0);
  std::vector<uint32_t> merged;
  for (uint32_t v = 0; v < nodes; ++v) {
    std::vector<uint32_t> heads = std::move(above[v]);
    std::sort(heads.begin(), heads.end());
    heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
    hierarchy.head.insert(hierarchy.head.end(), heads.begin(), heads.end());
    hierarchy.tail.insert(hierarchy.tail.end(), heads.size(), v);
    if (hierarchy.head.size() > kMaxArcs) throw NetworkFault{"the hierarchy has too many arcs"};
    hierarchy.up.push_back(static_cast<uint32_t>(hierarchy.head.size()));
    if (heads.size() < 2) continue;
    std::vector<uint32_t>& parent = above[heads[0]];
    parent.insert(parent.end(), heads.begin() + 1, heads.end());
    // Bounds the list of a parent with many children.
    if (parent.size() > 64 && parent.size() > 8 * heads.size()) {
      std::sort(parent.begin(), parent.end());
      parent.erase(std::unique(parent.begin(), parent.end()), parent.end());
    }
  }
  addDownArcs(nodes, hierarchy);
  return hierarchy;
}

}  // namespace graticule::networks
