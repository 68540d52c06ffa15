#pragma once

#include <proj.h>

namespace graticule {

/** Owns a PJ for the length of a scope. */
struct PjHolder {
  explicit PjHolder(PJ* p) : pj(p) {}
  ~PjHolder() { proj_destroy(pj); }
  PjHolder(const PjHolder&) = delete;
  PjHolder& operator=(const PjHolder&) = delete;

  PJ* release() {
    PJ* p = pj;
    pj = nullptr;
    return p;
  }

  PJ* pj;
};

}  // namespace graticule
