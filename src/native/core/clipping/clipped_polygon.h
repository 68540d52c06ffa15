// A polygon that a tile's clip box has cut, taken apart into polygons whose rings do not touch along the border.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace graticule {

/**
 * Takes the rings of one polygon, each clipped by Sutherland and Hodgman and rounded to the grid, and links them anew
 * where several edges of them run along the border of the clip box. Of each ring only the chains between its positions
 * on the border count. Where a chain ends, the polygon goes on along the border to the nearest chain that begins,
 * whichever ring that belongs to: with the interior on the left of all of them, ends and beginnings alternate. So one
 * polygon can become several, and holes that reach the border become part of exterior rings.
 *
 * All of it is integer arithmetic, and the area stays as it was. No edges along the border overlap afterwards, and no
 * ring meets a position of the border twice. Rings stay as they came when nothing has to be linked, or when ends and
 * beginnings do not alternate: such polygons cross themselves. Every buffer is kept from polygon to polygon. It takes
 * 2 % of the CPU of the encoder on countries and provinces (bench tile-clip).
 */
class ClippedPolygon {
 public:
  struct Ring {
    /** Index of its first position and how many there are, the first not repeated. */
    size_t begin;
    size_t count;
    bool exterior;
    /** Negative for holes; only of linked polygons. */
    int64_t doubleArea;
  };

  /** The clip box, the same on both axes. */
  void begin(int32_t low, int32_t high);

  /** The exterior ring first. It has no equal neighbours and no runs to and fro along the border. */
  void add(const int32_t* xy, size_t n);

  /** Ends the polygon. False when nothing could be linked: the rings are as they came. */
  bool finish();

  /** The rings of the polygons, each exterior ring followed by its holes. */
  const std::vector<Ring>& rings() const { return rings_; }

  const int32_t* positions(const Ring& ring) const { return positions_.data() + 2 * ring.begin; }

 private:
  /** A run of a ring from one position on the border to the next, both included, that leaves the border between. */
  struct Chain {
    size_t first;
    size_t last;
    /** Where it begins and ends among `ends_`. */
    uint32_t firstEnd;
    uint32_t lastEnd;
    bool traced;
  };
  /** An end of a chain on the border. */
  struct End {
    /** Way along the border from its corner low, low, against the clock on axes that point right and up. */
    int64_t way;
    /** From the end into the box. */
    int32_t dx;
    int32_t dy;
    uint32_t chain;
    /** Number of the position among those on the border. */
    uint32_t place;
    bool begins;
  };
  /** A ring as it comes out of the chains. */
  struct Piece {
    Ring ring;
    size_t owner;
  };

  struct GridBox {
    int32_t minX, minY, maxX, maxY;

    bool holds(const GridBox& b) const {
      return minX <= b.minX && minY <= b.minY && maxX >= b.maxX && maxY >= b.maxY;
    }
  };
  struct Exterior {
    GridBox box;
    size_t piece;
  };

  bool onBorder(const int32_t* p) const;
  bool alongBorder(const int32_t* a, const int32_t* b) const;
  size_t nextOnBorder(const int32_t* xy, size_t i, size_t n) const;
  size_t contactsOf(const int32_t* xy, size_t n) const;
  int64_t wayOf(const int32_t* p) const;

  /** False when the polygon has no area left. */
  bool orient();
  void cutChains();
  void cutRing(Ring& ring);
  void addEnd(size_t at, size_t next, uint32_t chain, bool begins);
  void sortEnds();
  /** Links all chains, where the first end on the border begins or not; false when that gives another area. */
  bool traceAll(bool begins);
  bool alternate(bool begins);
  bool alternateAt(size_t first, size_t last, bool begins);
  void trace(Chain& chain);
  void addPlace(size_t position, uint32_t place);
  void addCorners(const End& from, const End& to);
  /** Ends a ring that the trail holds from `begin` on. */
  void closeRing(size_t begin);
  GridBox boxOf(const Ring& ring) const;
  bool assignHoles();
  bool contains(const Piece& exterior, const Piece& hole) const;

  int32_t low_ = 0;
  int32_t high_ = 0;
  size_t contacts_ = 0;
  /** Twice the area of the rings that meet the border, holes negative; modulo 2^64. */
  uint64_t borderArea_ = 0;

  /** Each ring has room for its first position behind its last; rings of pieces follow. */
  std::vector<int32_t> positions_;
  std::vector<Ring> rings_;
  std::vector<Chain> chains_;
  std::vector<End> ends_;
  /** Ends that share a position, as they were sorted. */
  std::vector<End> shared_;
  std::vector<Piece> pieces_;
  std::vector<Exterior> exteriors_;
  std::vector<int32_t> trail_;
  /** Where each place of the border was last put on the trail. */
  std::vector<size_t> seen_;
};

}  // namespace graticule
