#include "intersects_box.h"

namespace graticule {
namespace {

struct Position {
  double x;
  double y;
};

constexpr unsigned kLeft = 1;
constexpr unsigned kRight = 2;
constexpr unsigned kBelow = 4;
constexpr unsigned kAbove = 8;

/** The sides of the box that a position is beyond; 0 in the box. No number is beyond both. */
unsigned sidesOf(const Position& p, const Box& box) {
  return (p.x >= box.minX ? 0 : kLeft) | (p.x <= box.maxX ? 0 : kRight) | (p.y >= box.minY ? 0 : kBelow) |
         (p.y <= box.maxY ? 0 : kAbove);
}

/** Twice the area of the triangle a, b, p: positive when p is left of the line from a to b. */
double side(const Position& a, const Position& b, const Position& p) {
  return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
}

/**
 * Whether an edge meets the box if its ends are not both beyond one side. Only the edge's own line can then separate
 * them, which the corners farthest to its left and right show.
 */
bool crosses(const Position& a, const Position& b, const Box& box) {
  const bool right = b.x > a.x;
  const bool up = b.y > a.y;
  const Position leftmost = {up ? box.minX : box.maxX, right ? box.maxY : box.minY};
  const Position rightmost = {up ? box.maxX : box.minX, right ? box.minY : box.maxY};
  return side(a, b, leftmost) >= 0 && side(a, b, rightmost) <= 0;
}

/** Whether the ray from `p` towards growing x meets an edge that does not go through `p`. */
bool rayMeets(const Position& a, const Position& b, const Position& p) {
  if ((a.y > p.y) == (b.y > p.y)) return false;
  return (side(a, b, p) > 0) == (b.y > a.y);
}

Position at(const Sequence& s, size_t i) { return {s.x(i), s.y(i)}; }

/**
 * Whether a line, or a ring when `closed`, meets the box. If not, and it is a ring, `inside` flips when the box's
 * lower left corner is in it.
 */
bool meets(const Sequence& s, bool closed, const Box& box, bool& inside) {
  if (s.count == 0) return false;
  const Position corner = {box.minX, box.minY};
  Position a = at(s, closed ? s.count - 1 : 0);
  unsigned sidesOfA = sidesOf(a, box);
  for (size_t i = 0; i < s.count; ++i) {
    const Position b = at(s, i);
    const unsigned sidesOfB = sidesOf(b, box);
    if (sidesOfB == 0) return true;
    const unsigned common = sidesOfA & sidesOfB;
    if (common == 0) {
      if (crosses(a, b, box)) return true;
      inside ^= rayMeets(a, b, corner);
    } else if (common == kRight) {
      inside ^= (a.y > corner.y) != (b.y > corner.y);
    }
    a = b;
    sidesOfA = sidesOfB;
  }
  return false;
}

bool polygonMeets(const Geometry& geometry, const Node& node, const Box& box) {
  bool inside = false;
  for (uint32_t i = 0; i < node.sequences; ++i) {
    if (meets(geometry.sequences[node.firstSequence + i], true, box, inside)) return true;
  }
  // No ring meets the box, so it is completely inside or outside the polygon.
  return inside;
}

bool disjoint(const Box& a, const Box& b) {
  return a.minX > b.maxX || a.maxX < b.minX || a.minY > b.maxY || a.maxY < b.minY;
}

bool holds(const Box& outer, const Box& inner) {
  return inner.minX >= outer.minX && inner.maxX <= outer.maxX && inner.minY >= outer.minY && inner.maxY <= outer.maxY;
}

}  // namespace

bool intersectsBox(const Geometry& geometry, const Box& box) {
  if (!box.valid()) return false;
  bool ignored = false;
  for (const Node& node : geometry.nodes) {
    if (!node.simple() || node.sequences == 0) continue;
    const bool hit = node.type == GeometryType::Polygon
                         ? polygonMeets(geometry, node, box)
                         : meets(geometry.sequences[node.firstSequence], false, box, ignored);
    if (hit) return true;
  }
  return false;
}

ReadStatus intersectsBox(const uint8_t* blob, size_t size, const Box& box, Geometry& scratch, bool& answer) {
  answer = false;
  BlobHeader header;
  if (const ReadStatus s = readBlob(blob, size, header, scratch); s != ReadStatus::Ok) return s;
  if (header.empty || scratch.empty() || (header.hasEnvelope && disjoint(header.envelope, box))) return ReadStatus::Ok;
  answer = (header.hasEnvelope && holds(box, header.envelope)) || intersectsBox(scratch, box);
  return ReadStatus::Ok;
}

}  // namespace graticule
