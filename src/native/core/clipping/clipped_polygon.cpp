#include "clipped_polygon.h"

#include <algorithm>
#include <cstdlib>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "grid_ring.h"

namespace graticule {
namespace {

/** Steps that a search for the exterior ring of holes may take per position of the polygon, and in any case. */
constexpr size_t kStepsPerPosition = 64;
constexpr size_t kFreeSteps = 1u << 20;

}  // namespace

void ClippedPolygon::begin(int32_t low, int32_t high) {
  low_ = low;
  high_ = high;
  contacts_ = 0;
  positions_.clear();
  rings_.clear();
}

inline bool ClippedPolygon::onBorder(const int32_t* p) const {
  return (p[0] == low_) | (p[0] == high_) | (p[1] == low_) | (p[1] == high_);
}

/** Whether an edge is on one border line. */
inline bool ClippedPolygon::alongBorder(const int32_t* a, const int32_t* b) const {
  return (a[0] == b[0] && (a[0] == low_ || a[0] == high_)) || (a[1] == b[1] && (a[1] == low_ || a[1] == high_));
}

/** The first position on the border from the i-th on; n when there is none. */
inline size_t ClippedPolygon::nextOnBorder(const int32_t* xy, size_t i, size_t n) const {
#if defined(__SSE2__)
  const __m128i low = _mm_set1_epi32(low_);
  const __m128i high = _mm_set1_epi32(high_);
  for (; i + 2 <= n; i += 2) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(xy + 2 * i));
    const int hits = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi32(v, low), _mm_cmpeq_epi32(v, high)));
    if (hits != 0) return (hits & 0xff) != 0 ? i : i + 1;
  }
#endif
  while (i < n && !onBorder(xy + 2 * i)) ++i;
  return i;
}

/**
 * Returns the number of times that a ring reaches the border. A run along it counts twice if it ends where it starts.
 * A ring that never leaves the border counts once.
 */
size_t ClippedPolygon::contactsOf(const int32_t* xy, size_t n) const {
  const size_t first = nextOnBorder(xy, 0, n);
  if (first == n) return 0;
  size_t contacts = 0;
  const int32_t* arrival = xy;
  const int32_t* departure = xy;
  const auto visit = [&](size_t last, size_t i, bool neighbours) {
    if (neighbours && alongBorder(xy + 2 * last, xy + 2 * i)) return;
    departure = xy + 2 * last;
    arrival = xy + 2 * i;
    ++contacts;
  };
  size_t last = first;
  for (size_t i = nextOnBorder(xy, first + 1, n); i < n; last = i, i = nextOnBorder(xy, i + 1, n)) {
    visit(last, i, i - last == 1);
  }
  visit(last, first, first + n - last == 1);
  if (contacts != 1) return contacts == 0 ? 1 : contacts;
  return arrival != departure && arrival[0] == departure[0] && arrival[1] == departure[1] ? 2 : 1;
}

void ClippedPolygon::add(const int32_t* xy, size_t n) {
  const size_t begin = positions_.size() / 2;
  positions_.insert(positions_.end(), xy, xy + 2 * n);
  positions_.resize(positions_.size() + 2);
  contacts_ += contactsOf(xy, n);
  rings_.push_back({begin, n, rings_.empty(), 0});
}

bool ClippedPolygon::finish() {
  // A single run along the border can not overlap with anything.
  if (contacts_ < 2) return true;
  if (!orient()) {
    rings_.clear();
    return true;
  }
  cutChains();
  if (chains_.empty()) return true;
  sortEnds();
  // If all positions have both an end and a start, either can come first; the area decides.
  const bool begins = ends_[0].begins;
  if ((!traceAll(begins) && !traceAll(!begins)) || !assignHoles()) return false;
  std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
    if (a.owner != b.owner) return a.owner < b.owner;
    return a.ring.exterior != b.ring.exterior ? a.ring.exterior : a.ring.begin < b.ring.begin;
  });
  rings_.clear();
  for (const Piece& piece : pieces_) rings_.push_back(piece.ring);
  return true;
}

bool ClippedPolygon::orient() {
  int64_t exterior = 0;
  size_t kept = 0;
  for (Ring& ring : rings_) {
    int32_t* xy = positions_.data() + 2 * ring.begin;
    const int64_t area = doubleArea(xy, ring.count);
    ring.doubleArea = ring.exterior ? std::llabs(area) : -std::llabs(area);
    if (ring.exterior) {
      if (area == 0) return false;
      exterior = std::llabs(area);
    } else {
      if (area == 0) continue;
      if (std::llabs(area) >= exterior) return false;
    }
    if ((area > 0) != ring.exterior) {
      for (int32_t *i = xy, *j = xy + 2 * (ring.count - 1); i < j; i += 2, j -= 2) std::swap_ranges(i, i + 2, j);
    }
    rings_[kept++] = ring;
  }
  rings_.resize(kept);
  return true;
}

bool ClippedPolygon::traceAll(bool begins) {
  if (!alternate(begins)) return false;
  for (size_t i = 0; i < ends_.size(); ++i) {
    const End& end = ends_[i];
    (end.begins ? chains_[end.chain].firstEnd : chains_[end.chain].lastEnd) = static_cast<uint32_t>(i);
  }
  for (Chain& chain : chains_) chain.traced = false;
  std::fill(seen_.begin(), seen_.end(), 0);
  const size_t inner = pieces_.size();
  const size_t given = positions_.size();
  for (Chain& chain : chains_) {
    if (!chain.traced) trace(chain);
  }
  uint64_t area = 0;
  for (size_t i = inner; i < pieces_.size(); ++i) area += static_cast<uint64_t>(pieces_[i].ring.doubleArea);
  if (area == borderArea_) return true;
  pieces_.resize(inner);
  positions_.resize(given);
  return false;
}

void ClippedPolygon::cutChains() {
  chains_.clear();
  ends_.clear();
  pieces_.clear();
  borderArea_ = 0;
  for (Ring& ring : rings_) cutRing(ring);
}

void ClippedPolygon::cutRing(Ring& ring) {
  int32_t* xy = positions_.data() + 2 * ring.begin;
  const size_t n = ring.count;
  const size_t first = nextOnBorder(xy, 0, n);
  if (first == n) {
    pieces_.push_back({ring, 0});
    return;
  }
  borderArea_ += static_cast<uint64_t>(ring.doubleArea);
  std::rotate(xy, xy + 2 * first, xy + 2 * n);
  xy[2 * n] = xy[0];
  xy[2 * n + 1] = xy[1];
  for (size_t last = 0, i = nextOnBorder(xy, 1, n + 1); i <= n; last = i, i = nextOnBorder(xy, i + 1, n + 1)) {
    if (i - last == 1 && alongBorder(xy + 2 * last, xy + 2 * i)) continue;
    const auto chain = static_cast<uint32_t>(chains_.size());
    chains_.push_back({ring.begin + last, ring.begin + i, 0, 0, false});
    addEnd(ring.begin + last, ring.begin + last + 1, chain, true);
    addEnd(ring.begin + i, ring.begin + i - 1, chain, false);
  }
}

int64_t ClippedPolygon::wayOf(const int32_t* p) const {
  const int64_t side = int64_t{high_} - low_;
  if (p[1] == low_) return int64_t{p[0]} - low_;
  if (p[0] == high_) return side + p[1] - low_;
  if (p[1] == high_) return 2 * side + high_ - p[0];
  return 3 * side + high_ - p[1];
}

void ClippedPolygon::addEnd(size_t at, size_t next, uint32_t chain, bool begins) {
  const int32_t* p = positions_.data() + 2 * at;
  const int32_t* q = positions_.data() + 2 * next;
  ends_.push_back({wayOf(p), q[0] - p[0], q[1] - p[1], chain, 0, begins});
}

/** Sorts the ends along the border; where several share a position, from the border behind it to the one ahead. */
void ClippedPolygon::sortEnds() {
  std::sort(ends_.begin(), ends_.end(), [](const End& a, const End& b) {
    if (a.way != b.way) return a.way < b.way;
    return int64_t{a.dx} * b.dy < int64_t{a.dy} * b.dx;
  });
  uint32_t place = 0;
  for (size_t i = 0; i < ends_.size(); ++i) {
    if (i != 0 && ends_[i].way != ends_[i - 1].way) ++place;
    ends_[i].place = place;
  }
  seen_.resize(place + 1);
}

/**
 * Whether ends and starts of chains alternate. Rounding may have put the ends at one position in a wrong order, so
 * they can be exchanged.
 */
bool ClippedPolygon::alternate(bool begins) {
  for (size_t i = 0; i < ends_.size();) {
    size_t last = i + 1;
    while (last < ends_.size() && ends_[last].place == ends_[i].place) ++last;
    if (last - i == 1) {
      if (ends_[i].begins != begins) return false;
    } else if (!alternateAt(i, last, begins)) {
      return false;
    }
    begins ^= ((last - i) & 1) != 0;
    i = last;
  }
  return true;
}

/** The same for the ends of one position. */
bool ClippedPolygon::alternateAt(size_t first, size_t last, bool begins) {
  shared_.assign(ends_.begin() + static_cast<ptrdiff_t>(first), ends_.begin() + static_cast<ptrdiff_t>(last));
  // The next end of each kind.
  size_t next[2] = {0, 0};
  for (size_t i = first; i < last; ++i, begins = !begins) {
    size_t& at = next[begins];
    while (at < shared_.size() && shared_[at].begins != begins) ++at;
    if (at == shared_.size()) return false;
    ends_[i] = shared_[at++];
  }
  return true;
}

void ClippedPolygon::trace(Chain& start) {
  trail_.clear();
  Chain* chain = &start;
  do {
    chain->traced = true;
    const End& end = ends_[chain->lastEnd];
    addPlace(chain->first, ends_[chain->firstEnd].place);
    const int32_t* xy = positions_.data();
    trail_.insert(trail_.end(), xy + 2 * (chain->first + 1), xy + 2 * chain->last);
    addPlace(chain->last, end.place);
    const End& next = ends_[chain->lastEnd + 1 == ends_.size() ? 0 : chain->lastEnd + 1];
    addCorners(end, next);
    chain = &chains_[next.chain];
  } while (!chain->traced);
  closeRing(0);
}

/** Adds a border position to the trail. The part since its last occurrence becomes a ring. */
void ClippedPolygon::addPlace(size_t position, uint32_t place) {
  const int32_t x = positions_[2 * position];
  const int32_t y = positions_[2 * position + 1];
  const size_t at = seen_[place];
  if (2 * at < trail_.size() && trail_[2 * at] == x && trail_[2 * at + 1] == y) closeRing(at);
  seen_[place] = trail_.size() / 2;
  trail_.push_back(x);
  trail_.push_back(y);
}

void ClippedPolygon::addCorners(const End& from, const End& to) {
  const int64_t side = int64_t{high_} - low_;
  // The last end leads to the first one by the corner at which the way starts.
  const int64_t goal = &to > &from ? to.way : to.way + 4 * side;
  for (int64_t corner = from.way / side + 1; corner * side < goal; ++corner) {
    trail_.push_back((corner + 1) % 4 < 2 ? low_ : high_);
    trail_.push_back(corner % 4 < 2 ? low_ : high_);
  }
}

void ClippedPolygon::closeRing(size_t begin) {
  const size_t count = trail_.size() / 2 - begin;
  const int64_t area = count < 3 ? 0 : doubleArea(trail_.data() + 2 * begin, count);
  if (area != 0) {
    pieces_.push_back({{positions_.size() / 2, count, area > 0, area}, 0});
    positions_.insert(positions_.end(), trail_.begin() + static_cast<ptrdiff_t>(2 * begin), trail_.end());
  }
  trail_.resize(2 * begin);
}

ClippedPolygon::GridBox ClippedPolygon::boxOf(const Ring& ring) const {
  const int32_t* xy = positions(ring);
  GridBox box{xy[0], xy[1], xy[0], xy[1]};
  for (size_t i = 1; i < ring.count; ++i) {
    box.minX = std::min(box.minX, xy[2 * i]);
    box.maxX = std::max(box.maxX, xy[2 * i]);
    box.minY = std::min(box.minY, xy[2 * i + 1]);
    box.maxY = std::max(box.maxY, xy[2 * i + 1]);
  }
  return box;
}

/** Gives each hole the exterior ring around it; false when that takes too long. */
bool ClippedPolygon::assignHoles() {
  exteriors_.clear();
  for (size_t i = 0; i < pieces_.size(); ++i) {
    if (!pieces_[i].ring.exterior) continue;
    pieces_[i].owner = i;
    exteriors_.push_back({boxOf(pieces_[i].ring), i});
  }
  if (exteriors_.empty()) return false;
  // The longest ring needs no look when it is the last that is left.
  std::sort(exteriors_.begin(), exteriors_.end(), [this](const Exterior& a, const Exterior& b) {
    return pieces_[a.piece].ring.count < pieces_[b.piece].ring.count;
  });
  size_t steps = kFreeSteps + kStepsPerPosition * (positions_.size() / 2);
  for (Piece& hole : pieces_) {
    if (hole.ring.exterior) continue;
    hole.owner = exteriors_.back().piece;
    if (exteriors_.size() == 1) continue;
    const GridBox box = boxOf(hole.ring);
    for (const auto& [around, i] : exteriors_) {
      if (steps == 0) return false;
      --steps;
      if (!around.holds(box)) continue;
      hole.owner = i;
      if (i == exteriors_.back().piece) break;
      const size_t cost = pieces_[i].ring.count;
      if (steps < cost) return false;
      steps -= cost;
      if (contains(pieces_[i], hole)) break;
    }
  }
  return true;
}

/** By the first position of the hole that is not on the exterior ring. */
bool ClippedPolygon::contains(const Piece& exterior, const Piece& hole) const {
  const int32_t* xy = positions(hole.ring);
  // At most one position of a valid hole is on the exterior ring, and rounding adds few.
  for (size_t i = 0; i < std::min<size_t>(hole.ring.count, 4); ++i) {
    const Side side = sideOf(positions(exterior.ring), exterior.ring.count, xy + 2 * i);
    if (side != Side::On) return side == Side::Inside;
  }
  return true;
}

}  // namespace graticule
