// Coordinate operations between two coordinate reference systems, as PROJ's database has them.
#pragma once

#include <proj.h>

#include <string>
#include <vector>

#include "geometry.h"
#include "pj_holder.h"

namespace graticule {

/** Transformation with a code from one datum to another. */
struct DatumStep {
  std::string authority;
  std::string code;
  std::string name;
  /** Against the direction that it is defined in. */
  bool inverse = false;
};

/** The operations from one CRS to another whose grids are at hand, the best first. */
class Operations {
 public:
  /** False, and a sentence in `error`, when a CRS is unknown. `area` in degrees, where it is valid. */
  bool find(PJ_CONTEXT* context, const std::string& from, const std::string& to, const Box& area, std::string& error);
  ~Operations() { proj_list_destroy(list_); }
  Operations() = default;
  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;

  size_t size() const { return usable_.size(); }
  /** The steps between datums; none where both CRS have one datum. */
  const std::vector<DatumStep>& steps(size_t i) const { return usable_[i].steps; }
  /** Transforms `n` x,y pairs in place; a position without an image becomes HUGE_VAL, HUGE_VAL. False when PROJ fails. */
  bool transform(size_t i, double* xy, size_t n) const;

 private:
  struct Operation {
    int index;
    std::vector<DatumStep> steps;
  };

  PJ_CONTEXT* context_ = nullptr;
  PJ_OBJ_LIST* list_ = nullptr;
  std::vector<Operation> usable_;
};

}  // namespace graticule
