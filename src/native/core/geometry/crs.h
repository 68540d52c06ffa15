// What a coordinate reference system is: name, code, axes, unit.
#pragma once

#include <proj.h>

#include <string>

#include "geometry.h"

namespace graticule {

struct CrsDescription {
  std::string name;
  /** Empty when the CRS has no code, nor one that PROJ is sure of. */
  std::string authority;
  std::string code;
  bool geographic = false;
  /** True when the authority defines northing or latitude as the first axis. */
  bool axisSwapped = false;
  /** Unit of the horizontal axes: "degree", "metre", "US survey foot" ... */
  std::string unit;
  /** Metres per unit; for degrees along the equator of the CRS's ellipsoid. */
  double metresPerUnit = 1;
  /** WKT 2:2019 on one line. */
  std::string wkt;
  /** PROJJSON on one line; empty when the CRS has none. */
  std::string projjson;
  /** WKT 1 as GDAL writes it; empty when the CRS has none. */
  std::string wkt1;
  /** Area of use in degrees, west, south, east, north; invalid (inverted y) when unknown. West > east crosses 180. */
  Box areaOfUse;
  std::string areaName;
};

/**
 * False, and a sentence in `error`, when the text names no CRS. Unless `identifies`, a CRS without a code is not compared
 * with those that have one.
 */
bool describeCrs(PJ_CONTEXT* context, const std::string& text, CrsDescription& description, std::string& error,
                 bool identifies = true);

/**
 * Whether a definition names a file by a path: PROJ would open it as a grid or as a list of definitions, whatever it is.
 * Plain names of grids are looked up among those of PROJ.
 */
bool namesFile(const std::string& text);

/** The horizontal CRS inside compound and bound ones, to be destroyed by the caller; null when there is none. */
PJ* horizontalOf(PJ_CONTEXT* context, const PJ* crs);

}  // namespace graticule
