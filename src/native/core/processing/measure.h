// Areas and lengths.
#pragma once

#include "../geometry/geometry.h"

namespace graticule {

struct Measures {
  /** Area of polygons. 0 if there are none. */
  double area = 0;
  /** Length of lines. */
  double length = 0;
  /** Length of all rings of polygons. */
  double perimeter = 0;
};

/** In units of the plane. */
Measures planarMeasures(const Geometry& geometry);

/** In metres over the ground, of longitudes and latitudes (WGS 84): edges are geodesics, as of ST_Area(geography). */
Measures groundMeasures(const Geometry& geometry);

}  // namespace graticule
