#include "flow_cut.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "spans.h"

namespace graticule::networks {
namespace {

/** Share of the nodes at each end. */
constexpr double kEnd = 0.25;

constexpr std::array<std::array<int64_t, 2>, 4> kDirections = {{{1, 0}, {0, 1}, {1, 1}, {1, -1}}};

/** Maximum flow of Dinic with capacity 1 in each direction of each edge. */
class UnitFlow {
 public:
  explicit UnitFlow(const PlainGraph& graph)
      : graph_(graph), flow_(graph.heads.size()), twin_(graph.heads.size()), level_(graph.size()), next_(graph.size()), end_(graph.size()) {
    std::vector<uint32_t> fill(graph.first.begin(), graph.first.end() - 1);
    // Visits the tails in ascending order, so the twins of sorted neighbours are found by counting.
    for (uint32_t v = 0; v < graph.size(); ++v) {
      for (uint32_t a = graph.first[v]; a < graph.first[v + 1]; ++a) twin_[a] = fill[graph.heads[a]]++;
    }
  }

  /** Returns false once the flow exceeds `limit`. */
  bool run(const std::vector<uint32_t>& sorted, size_t ends, uint32_t limit) {
    std::fill(flow_.begin(), flow_.end(), int8_t{0});
    std::fill(end_.begin(), end_.end(), uint8_t{0});
    for (size_t i = 0; i < ends; ++i) {
      end_[sorted[i]] = kSource;
      end_[sorted[sorted.size() - 1 - i]] = kTarget;
    }
    value_ = 0;
    while (label(kSource)) {
      std::copy(graph_.first.begin(), graph_.first.end() - 1, next_.begin());
      for (size_t i = 0; i < ends; ++i) {
        while (augment(sorted[i])) {
          if (++value_ > limit) return false;
        }
      }
    }
    return true;
  }

  uint32_t value() const { return value_; }

  /** Marks the nodes of the source's side, or of the target's side, of a minimum cut. */
  void markSide(bool fromSource, std::vector<uint8_t>& inside) {
    label(fromSource ? kSource : kTarget);
    for (uint32_t v = 0; v < graph_.size(); ++v) inside[v] = level_[v] != kNone;
  }

 private:
  static constexpr uint8_t kSource = 1;
  static constexpr uint8_t kTarget = 2;

  /** Breadth-first levels from one end in the residual graph. Returns whether the other end was reached. */
  bool label(uint8_t from) {
    std::fill(level_.begin(), level_.end(), kNone);
    queue_.clear();
    for (uint32_t v = 0; v < graph_.size(); ++v) {
      if (end_[v] != from) continue;
      level_[v] = 0;
      queue_.push_back(v);
    }
    const int8_t full = from == kSource ? 1 : -1;
    bool reached = false;
    for (size_t i = 0; i < queue_.size(); ++i) {
      const uint32_t v = queue_[i];
      if (end_[v] != 0 && end_[v] != from) {
        reached = true;
        continue;
      }
      for (uint32_t a = graph_.first[v]; a < graph_.first[v + 1]; ++a) {
        const uint32_t w = graph_.heads[a];
        if (flow_[a] == full || level_[w] != kNone) continue;
        level_[w] = level_[v] + 1;
        queue_.push_back(w);
      }
    }
    return reached;
  }

  /** Pushes one unit from a source along the levels. */
  bool augment(uint32_t source) {
    path_.clear();
    uint32_t v = source;
    while (end_[v] != kTarget) {
      const uint32_t last = graph_.first[v + 1];
      uint32_t& a = next_[v];
      while (a < last && (flow_[a] == 1 || level_[graph_.heads[a]] != level_[v] + 1)) ++a;
      if (a < last) {
        path_.push_back(a);
        v = graph_.heads[a];
        continue;
      }
      if (path_.empty()) return false;
      const uint32_t back = path_.back();
      path_.pop_back();
      v = graph_.heads[twin_[back]];
      ++next_[v];
    }
    for (const uint32_t a : path_) {
      ++flow_[a];
      --flow_[twin_[a]];
    }
    return true;
  }

  const PlainGraph& graph_;
  std::vector<int8_t> flow_;
  std::vector<uint32_t> twin_;
  std::vector<uint32_t> level_;
  std::vector<uint32_t> next_;
  std::vector<uint8_t> end_;
  std::vector<uint32_t> queue_;
  std::vector<uint32_t> path_;
  uint32_t value_ = 0;
};

struct Cut {
  std::vector<Part> parts;
  uint32_t separator = 0;
  double score = INFINITY;
};

/** Turns a cut of edges into a separator: the ends of the cut edges on the side where there are fewer. */
void considerSide(const PlainGraph& graph, const std::vector<uint8_t>& inside, Cut& best) {
  const uint32_t n = graph.size();
  std::array<uint32_t, 2> borders = {0, 0};
  std::array<uint32_t, 2> sizes = {0, 0};
  std::vector<uint8_t> border(n, 0);
  for (uint32_t v = 0; v < n; ++v) {
    ++sizes[inside[v]];
    for (uint32_t a = graph.first[v]; a < graph.first[v + 1] && border[v] == 0; ++a) {
      if (inside[graph.heads[a]] != inside[v]) border[v] = 1;
    }
    borders[inside[v]] += border[v];
  }
  const uint8_t side = borders[1] != borders[0] ? borders[1] < borders[0] : sizes[1] > sizes[0];
  sizes[side] -= borders[side];
  const double smaller = std::min(sizes[0], sizes[1]);
  // A separator of k nodes costs about k * k arcs, which more balance can repay.
  const double score = borders[side] * (1 + 0.5 * (1 - 2 * smaller / n));
  if (score >= best.score) return;
  best.score = score;
  best.separator = borders[side];
  best.parts.resize(n);
  for (uint32_t v = 0; v < n; ++v) {
    best.parts[v] = border[v] != 0 && inside[v] == side ? Part::Separator : inside[v] != 0 ? Part::Left : Part::Right;
  }
}

}  // namespace

std::vector<Part> separate(const PlainGraph& graph) {
  const uint32_t n = graph.size();
  const size_t ends = std::max<size_t>(1, static_cast<size_t>(n * kEnd));
  UnitFlow flow(graph);
  Cut best;
  std::vector<int64_t> key(n);
  std::vector<uint32_t> sorted(n);
  std::vector<uint8_t> inside(n);
  for (const auto& [dx, dy] : kDirections) {
    for (uint32_t v = 0; v < n; ++v) key[v] = dx * graph.x[v] + dy * graph.y[v];
    std::iota(sorted.begin(), sorted.end(), 0);
    std::sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) { return key[a] != key[b] ? key[a] < key[b] : a < b; });
    const uint32_t limit = best.parts.empty() ? kNone - 1 : 2 * best.separator + 1;
    if (!flow.run(sorted, ends, limit)) continue;
    for (const bool fromSource : {true, false}) {
      flow.markSide(fromSource, inside);
      considerSide(graph, inside, best);
    }
  }
  return best.parts;
}

}  // namespace graticule::networks
