#include "generalise.h"

#include <cmath>
#include <cstdlib>
#include <limits>

namespace graticule {
namespace {

/** Offset of a sequence that stays where it is. */
constexpr size_t kBorrowed = std::numeric_limits<size_t>::max();
/** Cells per unit of resolution. Rounding then moves a position by at most a quarter of the unit along each axis. */
constexpr double kCellsPerUnit = 2;
constexpr double kTolerance = 1;
/** Maximum cell number that an int32, and arithmetic on it, can represent. */
constexpr double kMaxCell = 1e9;

double areaOf(const Sequence& s) {
  if (s.count < 3) return 0;
  double sum = 0;
  const double x0 = s.x(0);
  const double y0 = s.y(0);
  for (size_t i = 1; i < s.count; ++i) {
    sum += (s.x(i - 1) - x0) * (s.y(i) - y0) - (s.x(i) - x0) * (s.y(i - 1) - y0);
  }
  return std::fabs(sum) / 2;
}

double lengthOf(const Sequence& s) {
  double sum = 0;
  for (size_t i = 1; i < s.count; ++i) sum += std::hypot(s.x(i) - s.x(i - 1), s.y(i) - s.y(i - 1));
  return sum;
}

bool flat(const int32_t* xy, size_t n) {
  double sum = 0;
  for (size_t i = 2; i < n; ++i) {
    const double ax = double{1} * xy[2 * i - 2] - xy[0];
    const double ay = double{1} * xy[2 * i - 1] - xy[1];
    sum += ax * (double{1} * xy[2 * i + 1] - xy[1]) - (double{1} * xy[2 * i] - xy[0]) * ay;
  }
  return sum == 0;
}

}  // namespace

uint64_t importanceOf(double measure, uint32_t hash) {
  const auto single = static_cast<float>(measure);
  uint32_t bits = 0;
  // Bits of a number that is not negative are in its order.
  std::memcpy(&bits, &single, sizeof bits);
  return uint64_t{bits} << 32 | hash;
}

uint32_t hashOfPosition(const Sequence& s) {
  uint64_t mixed = loadNative<uint64_t>(s.data) * 0x9e3779b97f4a7c15ull;
  // Round coordinates have bits only at the top: folding them down keeps rows of a regular grid from hashing alike.
  mixed = (mixed ^ mixed >> 32) ^ loadNative<uint64_t>(s.data + 8);
  mixed *= 0xd6e8feb86659fd93ull;
  mixed = (mixed ^ mixed >> 29) * 0x94d049bb133111ebull;
  return static_cast<uint32_t>(mixed >> 32);
}

double measureOf(const Geometry& geometry) {
  double area = 0;
  double length = 0;
  for (const Node& node : geometry.nodes) {
    if (node.sequences == 0 || !node.simple() || node.type == GeometryType::Point) continue;
    const Sequence& first = geometry.sequences[node.firstSequence];
    if (node.type == GeometryType::Polygon) area += areaOf(first);
    if (node.type == GeometryType::LineString) length += lengthOf(first);
  }
  const double measure = area > 0 ? area : length;
  return measure >= 0 ? measure : 0;
}

const Geometry& Generaliser::generalise(const Geometry& geometry, double resolution) {
  result_.clear();
  positions_.clear();
  offsets_.clear();
  cell_ = resolution / kCellsPerUnit;
  // Room for the collection; set once its members are known.
  result_.nodes.push_back({GeometryType::GeometryCollection, 0, 0, 0});
  uint32_t members = 0;
  unsigned kinds = 0;
  for (const Node& node : geometry.nodes) {
    if (!node.simple() || node.sequences == 0) continue;
    const auto first = static_cast<uint32_t>(result_.sequences.size());
    const size_t at = result_.nodes.size();
    result_.nodes.push_back({node.type, 0, first, 0});
    bool left = true;
    if (node.type == GeometryType::Point) {
      const Sequence& s = geometry.sequences[node.firstSequence];
      result_.sequences.push_back({s.data, 1, 16, false});
      offsets_.push_back(kBorrowed);
    } else {
      left = node.type == GeometryType::Polygon ? addPolygon(geometry, node)
                                                : addLine(geometry.sequences[node.firstSequence]);
    }
    if (!left) {
      result_.nodes.resize(at);
      continue;
    }
    result_.nodes[at].sequences = static_cast<uint32_t>(result_.sequences.size()) - first;
    kinds |= 1u << static_cast<unsigned>(node.type);
    ++members;
  }
  for (size_t i = 0; i < offsets_.size(); ++i) {
    if (offsets_[i] != kBorrowed) {
      result_.sequences[i].data = reinterpret_cast<const uint8_t*>(positions_.data() + offsets_[i]);
    }
  }
  if (members == 0) {
    result_.nodes.clear();
  } else if (members == 1) {
    result_.nodes.erase(result_.nodes.begin());
  } else {
    result_.nodes[0].members = members;
    for (const auto simple : {GeometryType::Point, GeometryType::LineString, GeometryType::Polygon}) {
      const auto multi = static_cast<GeometryType>(static_cast<uint8_t>(simple) + 3);
      if (kinds == 1u << static_cast<unsigned>(simple)) result_.nodes[0].type = multi;
    }
  }
  return result_;
}

/**
 * Fills `grid_` with the sequence, without positions equal to the previous one. False for positions that are not
 * finite.
 */
bool Generaliser::quantise(const Sequence& s) {
  grid_.clear();
  originX_ = s.x(0);
  originY_ = s.y(0);
  // One position more: the simplifier closes rings.
  grid_.reserve(2 * (size_t{s.count} + 1));
  for (size_t i = 0; i < s.count; ++i) {
    const double x = (s.x(i) - originX_) / cell_;
    const double y = (s.y(i) - originY_) / cell_;
    if (!(std::fabs(x) <= kMaxCell && std::fabs(y) <= kMaxCell)) return false;
    const auto column = static_cast<int32_t>(std::lrint(x));
    const auto row = static_cast<int32_t>(std::lrint(y));
    const size_t n = grid_.size();
    if (n != 0 && grid_[n - 2] == column && grid_[n - 1] == row) continue;
    grid_.push_back(column);
    grid_.push_back(row);
  }
  return true;
}

bool Generaliser::addLine(const Sequence& s) {
  if (s.count < 2 || !quantise(s)) return false;
  const size_t n = simplifier_.line(grid_.data(), grid_.size() / 2, kTolerance);
  if (n < 2) return false;
  addSequence(n, false);
  return true;
}

bool Generaliser::addPolygon(const Geometry& geometry, const Node& node) {
  const size_t before = result_.sequences.size();
  for (uint32_t i = 0; i < node.sequences; ++i) {
    const Sequence& s = geometry.sequences[node.firstSequence + i];
    size_t n = 0;
    if (s.count >= 3 && quantise(s)) {
      n = grid_.size() / 2;
      while (n > 1 && grid_[0] == grid_[2 * n - 2] && grid_[1] == grid_[2 * n - 1]) --n;
      grid_.resize(2 * n + 2);
      n = simplifier_.ring(grid_.data(), n, kTolerance);
    }
    if (n >= 3 && !flat(grid_.data(), n)) {
      addSequence(n, true);
    } else if (i == 0) {
      return false;
    }
  }
  return result_.sequences.size() > before;
}

void Generaliser::addSequence(size_t n, bool closed) {
  offsets_.push_back(positions_.size());
  for (size_t i = 0; i < n + closed; ++i) {
    const size_t at = 2 * (i % n);
    positions_.push_back(originX_ + grid_[at] * cell_);
    positions_.push_back(originY_ + grid_[at + 1] * cell_);
  }
  result_.sequences.push_back({nullptr, static_cast<uint32_t>(n + closed), 16, false});
}

}  // namespace graticule
