// Shares of the cells of a raster that polygons cover.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "../geometry/geometry.h"

namespace graticule {

/** From coordinates to columns and rows: column = t[0] + t[1] x + t[2] y, row = t[3] + t[4] x + t[5] y. */
using PixelTransform = std::array<double, 6>;

enum class ShareRule : uint8_t {
  /** The share of the area of a cell. */
  Area,
  /** 1 for cells whose centre is in a polygon, otherwise 0. */
  Centre,
};

/**
 * Sums up signed areas along the edges. An edge adds to its own cells, and to all cells right of it. The sum of a row
 * from left to right is the share. Exact for valid polygons, up to rounding. Other geometries cover no area. One pass
 * over the edges and one over the cells. Including the read of a batch of zones, it takes 1.8 to 12 times less CPU
 * than exactextract (bench zonal).
 */
class CellShares {
 public:
  /** Cells of `width` columns and `height` rows, the first of which starts at 0,0 of the transform. */
  CellShares(const PixelTransform& transform, uint32_t width, uint32_t height, ShareRule rule)
      : transform_(transform), width_(width), height_(height), rule_(rule) {}

  /** Works out the shares of a geometry; false when its box meets no cell. */
  bool cover(const Geometry& geometry);

  /**
   * Calls `visit(index, count, share)` for each run of cells with the same share, above 0; `index` counts row by row from
   * the first cell on.
   */
  template <typename Visit>
  void eachRun(Visit&& visit) const {
    for (uint32_t row = 0; row < rows_; ++row) {
      const double* steps = steps_.data() + static_cast<size_t>(row) * stride_;
      const size_t first = static_cast<size_t>(row + firstRow_) * width_ + firstColumn_;
      double share = 0;
      for (uint32_t column = 0; column < columns_;) {
        share += steps[column];
        uint32_t end = column + 1;
        while (end < columns_ && steps[end] == 0) ++end;
        if (share >= kLeastShare) visit(first + column, end - column, share > 1 - kLeastShare ? 1.0 : share);
        column = end;
      }
    }
  }

 private:
  /** Rounding errors of 0 and of 1. */
  static constexpr double kLeastShare = 1e-9;

  struct Ring {
    size_t begin;
    size_t end;
    bool exterior;
  };
  struct Position {
    double x;
    double y;
  };

  void place(const Geometry& geometry);
  bool crop();
  double directionOf(const Ring& ring) const;
  void addEdge(Position from, Position to, double direction);
  void addCentres(Position from, Position to, double direction);
  void addInRow(double* row, double x0, double x1, double height);
  void addInCells(double* row, double x0, double x1, double height);

  PixelTransform transform_;
  uint32_t width_;
  uint32_t height_;
  ShareRule rule_;
  std::vector<Position> positions_;
  std::vector<Ring> rings_;
  uint32_t firstColumn_ = 0;
  uint32_t firstRow_ = 0;
  uint32_t columns_ = 0;
  uint32_t rows_ = 0;
  size_t stride_ = 0;
  /** Difference of each cell from the cell to its left. */
  std::vector<double> steps_;
};

}  // namespace graticule
