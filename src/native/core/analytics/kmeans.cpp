#include "kmeans.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace graticule {
namespace {

constexpr int kMaxIterations = 300;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/** xorshift64*, 0 to 1: the same numbers in every run. */
class Random {
 public:
  double next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<double>((state_ * 0x2545F4914F6CDD1Du) >> 11) * 0x1p-53;
  }

 private:
  uint64_t state_ = 0x9E3779B97F4A7C15u;
};

template <int D>
class KMeans {
 public:
  using Position = std::array<double, D>;

  KMeans(const double* points, size_t n, uint32_t k) : n_(n), labels_(n, 0), upper_(n), lower_(n) {
    for (int d = 0; d < D; ++d) {
      axes_[d].resize(n);
      for (size_t i = 0; i < n; ++i) axes_[d][i] = points[i * D + d];
    }
    seed(k);
  }

  void run() {
    assignAll();
    for (int i = 0; i < kMaxIterations; ++i) {
      moveCentres();
      if (!assignMoved()) return;
    }
  }

  void number(int32_t* labels) const {
    std::vector<int32_t> numbers(centres_.size(), -1);
    int32_t next = 0;
    for (size_t i = 0; i < n_; ++i) {
      int32_t& assigned = numbers[labels_[i]];
      if (assigned < 0) assigned = next++;
      labels[i] = assigned;
    }
  }

 private:
  double square(size_t i, const Position& centre) const {
    double sum = 0;
    for (int d = 0; d < D; ++d) {
      const double delta = axes_[d][i] - centre[d];
      sum += delta * delta;
    }
    return sum;
  }

  Position at(size_t i) const {
    Position position;
    for (int d = 0; d < D; ++d) position[d] = axes_[d][i];
    return position;
  }

  /** k-means++: each next centre is a point, chosen by its square distance to those that are. */
  void seed(uint32_t k) {
    Random random;
    std::vector<double> nearest(n_, kInfinity);
    centres_.push_back(at(static_cast<size_t>(random.next() * static_cast<double>(n_))));
    while (centres_.size() < k) {
      const Position& last = centres_.back();
      double total = 0;
      for (size_t i = 0; i < n_; ++i) {
        nearest[i] = std::min(nearest[i], square(i, last));
        total += nearest[i];
      }
      // Every point is a centre already.
      if (!(total > 0)) return;
      double target = random.next() * total;
      size_t chosen = n_;
      for (size_t i = 0; i < n_ && target >= 0; ++i) {
        if (nearest[i] == 0) continue;
        target -= nearest[i];
        chosen = i;
      }
      centres_.push_back(at(chosen));
    }
  }

  /** Looks at every centre; sets the bounds of the point. */
  void assign(size_t i) {
    double best = kInfinity;
    double second = kInfinity;
    uint32_t label = 0;
    for (uint32_t c = 0; c < centres_.size(); ++c) {
      const double distance = square(i, centres_[c]);
      if (distance < best) {
        second = best;
        best = distance;
        label = c;
      } else if (distance < second) {
        second = distance;
      }
    }
    labels_[i] = label;
    upper_[i] = std::sqrt(best);
    lower_[i] = std::sqrt(second);
  }

  void assignAll() {
    for (size_t i = 0; i < n_; ++i) assign(i);
  }

  /** Each centre to the mean of its points; one without points stays. Bounds widen by what the centres moved. */
  void moveCentres() {
    const size_t k = centres_.size();
    std::vector<Position> sums(k, Position{});
    std::vector<double> counts(k, 0);
    for (size_t i = 0; i < n_; ++i) {
      for (int d = 0; d < D; ++d) sums[labels_[i]][d] += axes_[d][i];
      counts[labels_[i]] += 1;
    }
    std::vector<double> moved(k, 0);
    double most = 0;
    double secondMost = 0;
    uint32_t farthest = 0;
    for (uint32_t c = 0; c < k; ++c) {
      if (counts[c] == 0) continue;
      double sum = 0;
      for (int d = 0; d < D; ++d) {
        const double mean = sums[c][d] / counts[c];
        sum += (mean - centres_[c][d]) * (mean - centres_[c][d]);
        centres_[c][d] = mean;
      }
      moved[c] = std::sqrt(sum);
      if (moved[c] > most) {
        secondMost = most;
        most = moved[c];
        farthest = c;
      } else {
        secondMost = std::max(secondMost, moved[c]);
      }
    }
    for (size_t i = 0; i < n_; ++i) {
      upper_[i] += moved[labels_[i]];
      lower_[i] -= labels_[i] == farthest ? secondMost : most;
    }
  }

  /** Looks again at the points whose bounds do not tell; true when one of them has changed its cluster. */
  bool assignMoved() {
    const std::vector<double> half = halfGaps();
    bool changed = false;
    for (size_t i = 0; i < n_; ++i) {
      const uint32_t label = labels_[i];
      const double bound = std::max(half[label], lower_[i]);
      if (upper_[i] <= bound) continue;
      upper_[i] = std::sqrt(square(i, centres_[label]));
      if (upper_[i] <= bound) continue;
      assign(i);
      changed |= labels_[i] != label;
    }
    return changed;
  }

  /** Half the distance from each centre to the nearest other one: within it no other centre can be nearer. */
  std::vector<double> halfGaps() const {
    std::vector<double> half(centres_.size(), kInfinity);
    for (size_t a = 0; a < centres_.size(); ++a) {
      for (size_t b = a + 1; b < centres_.size(); ++b) {
        double sum = 0;
        for (int d = 0; d < D; ++d) sum += (centres_[a][d] - centres_[b][d]) * (centres_[a][d] - centres_[b][d]);
        half[a] = std::min(half[a], sum);
        half[b] = std::min(half[b], sum);
      }
    }
    for (double& gap : half) gap = std::sqrt(gap) / 2;
    return half;
  }

  size_t n_;
  std::array<std::vector<double>, D> axes_;
  std::vector<Position> centres_;
  std::vector<uint32_t> labels_;
  /** Bounds of the distance to the own centre, and to the second nearest. */
  std::vector<double> upper_;
  std::vector<double> lower_;
};

template <int D>
void run(const double* points, size_t n, uint32_t k, int32_t* labels) {
  KMeans<D> clusters(points, n, k);
  clusters.run();
  clusters.number(labels);
}

}  // namespace

void kmeans(const double* points, size_t n, int dimensions, uint32_t k, int32_t* labels) {
  if (n == 0 || k == 0) return;
  (dimensions == 2 ? run<2> : run<3>)(points, n, k, labels);
}

}  // namespace graticule
