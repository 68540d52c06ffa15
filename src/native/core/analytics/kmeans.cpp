#include "kmeans.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace graticule {
namespace {

constexpr int kMaxIterations = 300;
/** Share of the variance that the squares of the centres' moves may still come to at the end. */
constexpr double kTolerance = 1e-4;
/** Minimum number of points from which seeds are drawn. */
constexpr size_t kSample = 100'000;
constexpr size_t kSamplePerCentre = 100;
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
class KMeansOf final : public KMeans {
 public:
  using Position = std::array<double, D>;
  /** Coordinates of all points, axis by axis. */
  using Axes = std::array<std::vector<double>, D>;

  KMeansOf(const double* points, size_t n, uint32_t k) : n_(n), labels_(n, 0), upper_(n), lower_(n) {
    for (int d = 0; d < D; ++d) {
      axes_[d].resize(n);
      for (size_t i = 0; i < n; ++i) axes_[d][i] = points[i * D + d];
    }
    tolerance_ = kTolerance * variance();
    if (n > 0) seed(k);
  }

  bool iterate() override {
    if (n_ == 0) return true;
    if (iteration_++ == 0) {
      assignAll();
      return false;
    }
    const double moved = moveCentres();
    return !assignMoved() || moved <= tolerance_ || iteration_ > kMaxIterations;
  }

  size_t size() const override { return n_; }

  void number(int32_t* labels) const override {
    std::vector<int32_t> numbers(centres_.size(), -1);
    int32_t next = 0;
    for (size_t i = 0; i < n_; ++i) {
      int32_t& assigned = numbers[labels_[i]];
      if (assigned < 0) assigned = next++;
      labels[i] = assigned;
    }
  }

 private:
  static double square(const Axes& axes, size_t i, const Position& centre) {
    double sum = 0;
    for (int d = 0; d < D; ++d) {
      const double delta = axes[d][i] - centre[d];
      sum += delta * delta;
    }
    return sum;
  }
  double square(size_t i, const Position& centre) const { return square(axes_, i, centre); }

  static Position at(const Axes& axes, size_t i) {
    Position position;
    for (int d = 0; d < D; ++d) position[d] = axes[d][i];
    return position;
  }

  /**
   * k-means++: each next centre is a point, drawn by its squared distance to the existing centres. Several points are
   * drawn, and the one that reduces the distances most is chosen. A sample is sufficient to find dense regions.
   */
  void seed(uint32_t k) {
    Random random;
    const size_t size = std::min(n_, std::max<size_t>(kSample, size_t{k} * kSamplePerCentre));
    Axes sample;
    for (auto& axis : sample) axis.resize(size);
    for (size_t i = 0; i < size; ++i) {
      // Drawn at random, because points often come in some order.
      const size_t point = size == n_ ? i : static_cast<size_t>(random.next() * static_cast<double>(n_));
      for (int d = 0; d < D; ++d) sample[d][i] = axes_[d][point];
    }
    const auto trials = 2 + static_cast<int>(std::log(static_cast<double>(k)));
    std::vector<double> nearest(size, kInfinity);
    std::vector<double> tried(size);
    std::vector<double> best(size);
    centres_.push_back(at(sample, static_cast<size_t>(random.next() * static_cast<double>(size))));
    double total = distanceLeft(sample, centres_[0], nearest, nearest);
    // At 0 every point is a centre already.
    while (centres_.size() < k && total > 0) {
      double least = kInfinity;
      Position chosen{};
      for (int trial = 0; trial < trials; ++trial) {
        const Position candidate = at(sample, draw(nearest, random.next() * total));
        const double left = distanceLeft(sample, candidate, nearest, tried);
        if (left >= least) continue;
        least = left;
        chosen = candidate;
        best.swap(tried);
      }
      nearest.swap(best);
      total = least;
      centres_.push_back(chosen);
    }
  }

  /** The square distances to the nearest centre if there were this one too, and their sum. */
  static double distanceLeft(const Axes& sample, const Position& centre, const std::vector<double>& nearest,
                             std::vector<double>& result) {
    double total = 0;
    for (size_t i = 0; i < result.size(); ++i) {
      result[i] = std::min(nearest[i], square(sample, i, centre));
      total += result[i];
    }
    return total;
  }

  /** The entry at which the running sum of the weights passes `target`; never one of weight 0. */
  static size_t draw(const std::vector<double>& weights, double target) {
    size_t chosen = 0;
    for (size_t i = 0; i < weights.size() && target >= 0; ++i) {
      if (weights[i] == 0) continue;
      target -= weights[i];
      chosen = i;
    }
    return chosen;
  }

  /** Compares the point with every centre, and sets its bounds. */
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

  /**
   * Moves each centre to the mean of its points. A centre without points remains. Bounds widen by the movement of the
   * centres. Returns the sum of the squared movements.
   */
  double moveCentres() {
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
    double total = 0;
    uint32_t farthest = 0;
    for (uint32_t c = 0; c < k; ++c) {
      if (counts[c] == 0) continue;
      double sum = 0;
      for (int d = 0; d < D; ++d) {
        const double mean = sums[c][d] / counts[c];
        sum += (mean - centres_[c][d]) * (mean - centres_[c][d]);
        centres_[c][d] = mean;
      }
      total += sum;
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
    return total;
  }

  /** The mean of the variances of the axes. */
  double variance() const {
    double sum = 0;
    for (const auto& axis : axes_) {
      double mean = 0;
      for (const double v : axis) mean += v / static_cast<double>(n_);
      for (const double v : axis) sum += (v - mean) * (v - mean) / static_cast<double>(n_);
    }
    return sum / D;
  }

  /** Reassigns the points whose bounds do not decide. Returns true if one of them changed its cluster. */
  bool assignMoved() {
    meetNeighbours();
    const size_t others = centres_.size() - 1;
    bool changed = false;
    for (size_t i = 0; i < n_; ++i) {
      const uint32_t label = labels_[i];
      // Within half the way to the nearest other centre none can be nearer.
      const double half = others == 0 ? kInfinity : neighbours_[label * others].distance / 2;
      const double bound = std::max(half, lower_[i]);
      if (upper_[i] <= bound) continue;
      upper_[i] = std::sqrt(square(i, centres_[label]));
      if (upper_[i] <= bound) continue;
      assignNear(i);
      changed |= labels_[i] != label;
    }
    return changed;
  }

  /**
   * Same as assign(), but visits the other centres in the order of their distance from the point's own centre. It
   * stops when no further centre can be among the two nearest. The upper bound is the distance itself.
   */
  void assignNear(size_t i) {
    const size_t others = centres_.size() - 1;
    const Neighbour* neighbour = neighbours_.data() + labels_[i] * others;
    const double own = upper_[i];
    double second = kInfinity;
    for (const Neighbour* end = neighbour + others; neighbour != end; ++neighbour) {
      if (neighbour->distance - own >= second) break;
      const double distance = std::sqrt(square(i, centres_[neighbour->centre]));
      if (distance < upper_[i]) {
        second = upper_[i];
        upper_[i] = distance;
        labels_[i] = neighbour->centre;
      } else if (distance < second) {
        second = distance;
      }
    }
    lower_[i] = second;
  }

  struct Neighbour {
    double distance;
    uint32_t centre;
  };

  /** Sorts the other centres for each centre, nearest first. */
  void meetNeighbours() {
    const size_t k = centres_.size();
    neighbours_.clear();
    for (uint32_t a = 0; a < k; ++a) {
      for (uint32_t b = 0; b < k; ++b) {
        if (a == b) continue;
        double sum = 0;
        for (int d = 0; d < D; ++d) sum += (centres_[a][d] - centres_[b][d]) * (centres_[a][d] - centres_[b][d]);
        neighbours_.push_back({std::sqrt(sum), b});
      }
      std::sort(neighbours_.end() - static_cast<std::ptrdiff_t>(k - 1), neighbours_.end(),
                [](const Neighbour& x, const Neighbour& y) { return x.distance < y.distance; });
    }
  }

  size_t n_;
  int iteration_ = 0;
  double tolerance_ = 0;
  Axes axes_;
  std::vector<Position> centres_;
  std::vector<Neighbour> neighbours_;
  std::vector<uint32_t> labels_;
  /** Bounds of the distance to the own centre, and to the second nearest. */
  std::vector<double> upper_;
  std::vector<double> lower_;
};

}  // namespace

std::unique_ptr<KMeans> createKMeans(const double* points, size_t n, int dimensions, uint32_t k) {
  if (dimensions == 2) return std::make_unique<KMeansOf<2>>(points, n, k);
  return std::make_unique<KMeansOf<3>>(points, n, k);
}

}  // namespace graticule
