#include "tile_check.h"

#include <vector>

namespace {

struct Bytes {
  const uint8_t* p;
  const uint8_t* end;
  bool ok = true;

  bool more() const { return ok && p < end; }
  uint64_t varint() {
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (p >= end) break;
      const uint8_t byte = *p++;
      v |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return v;
    }
    ok = false;
    return 0;
  }
  Bytes chunk() {
    const uint64_t n = varint();
    if (!ok || n > static_cast<uint64_t>(end - p)) {
      ok = false;
      return {p, p};
    }
    Bytes inner{p, p + n};
    p += n;
    return inner;
  }
};

class GeometryCheck {
 public:
  GeometryCheck(Bytes commands, int64_t low, int64_t high) : in_(commands), low_(low), high_(high) {}

  bool points() { return positions(1, UINT32_MAX) && !in_.more() && in_.ok; }

  bool lines() {
    do {
      path_.clear();
      if (!positions(1, 1) || !positions(2, UINT32_MAX) || repeats()) return false;
    } while (in_.more());
    return in_.ok;
  }

  bool polygons() {
    bool first = true;
    do {
      path_.clear();
      if (!positions(1, 1) || !positions(2, UINT32_MAX) || in_.varint() != 15) return false;
      const int64_t area = doubleArea();
      if (path_.size() < 3 || repeats() || area == 0 || (first && area < 0)) return false;
      first = false;
    } while (in_.more());
    return in_.ok;
  }

 private:
  struct Position {
    int64_t x;
    int64_t y;
  };

  bool positions(uint32_t command, uint64_t most) {
    const uint64_t header = in_.varint();
    const uint64_t count = header >> 3;
    if (!in_.ok || (header & 7) != command || count == 0 || count > most) return false;
    for (uint64_t i = 0; i < count; ++i) {
      x_ += delta();
      y_ += delta();
      if (!in_.ok || x_ < low_ || x_ > high_ || y_ < low_ || y_ > high_) return false;
      path_.push_back({x_, y_});
    }
    return true;
  }

  int64_t delta() {
    const uint64_t v = in_.varint();
    return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
  }

  bool repeats() const {
    for (size_t i = 1; i < path_.size(); ++i) {
      if (path_[i].x == path_[i - 1].x && path_[i].y == path_[i - 1].y) return true;
    }
    return false;
  }

  int64_t doubleArea() const {
    int64_t sum = 0;
    for (size_t i = 0; i < path_.size(); ++i) {
      const Position& a = path_[i];
      const Position& b = path_[(i + 1) % path_.size()];
      sum += a.x * b.y - b.x * a.y;
    }
    return sum;
  }

  Bytes in_;
  int64_t low_;
  int64_t high_;
  int64_t x_ = 0;
  int64_t y_ = 0;
  std::vector<Position> path_;
};

bool featureIsValid(Bytes feature, int64_t low, int64_t high) {
  uint64_t type = 0;
  Bytes geometry{nullptr, nullptr};
  while (feature.more()) {
    switch (feature.varint()) {
      case 1 << 3: feature.varint(); break;
      case 3 << 3: type = feature.varint(); break;
      case 2 << 3 | 2: feature.chunk(); break;
      case 4 << 3 | 2: geometry = feature.chunk(); break;
      default: return false;
    }
  }
  GeometryCheck check(geometry, low, high);
  return feature.ok && (type == 1   ? check.points()
                        : type == 2 ? check.lines()
                                    : type == 3 && check.polygons());
}

}  // namespace

bool tileIsValid(const uint8_t* tile, size_t size, int64_t low, int64_t high) {
  Bytes in{tile, tile + size};
  if (in.varint() != (3 << 3 | 2)) return false;
  Bytes layer = in.chunk();
  if (!in.ok || in.more()) return false;
  while (layer.more()) {
    const uint64_t key = layer.varint();
    if ((key & 7) == 0) {
      layer.varint();
      continue;
    }
    const Bytes chunk = layer.chunk();
    if (key == (2 << 3 | 2) && !featureIsValid(chunk, low, high)) return false;
  }
  return layer.ok;
}
