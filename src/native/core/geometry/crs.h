// Description of a coordinate reference system: name, code, axes, unit.
#pragma once

#include <proj.h>

#include <string>
#include <vector>

#include "geometry.h"

namespace graticule {

struct CrsDescription {
  std::string name;
  /** Empty if the CRS does not have a code, and PROJ does not find one with confidence. */
  std::string authority;
  std::string code;
  bool geographic = false;
  /** True when the authority defines northing or latitude as the first axis. */
  bool axisSwapped = false;
  /** Unit of the horizontal axes: "degree", "metre", "US survey foot" ... */
  std::string unit;
  /** Metres per unit. If the unit is the degree: metres per degree along the equator of the ellipsoid. */
  double metresPerUnit = 1;
  /** WKT 2:2019 on one line. */
  std::string wkt;
  /** PROJJSON on one line. Empty if the CRS does not have one. */
  std::string projjson;
  /** WKT 1 as written by GDAL. Empty if the CRS does not have one. */
  std::string wkt1;
  /**
   * Area of use in degrees: west, south, east, north. Invalid (inverted y) if unknown. West > east crosses 180
   * degrees.
   */
  Box areaOfUse;
  std::string areaName;
};

/**
 * Returns false, and a sentence in `error`, if the text does not name a CRS. Unless `identifies`, a CRS without a
 * code is not compared with those in the database.
 */
bool describeCrs(PJ_CONTEXT* context, const std::string& text, CrsDescription& description, std::string& error,
                 bool identifies = true);

/** A horizontal CRS of PROJ's database. */
struct CrsEntry {
  std::string code;
  std::string name;
  std::string areaName;
  bool geographic = false;
  bool hasArea = false;
  Box area;
};

/** Geographic 2D and projected CRSs of EPSG that are not deprecated. */
std::vector<CrsEntry> listCrs(PJ_CONTEXT* context);

/**
 * Whether a definition names a file by a path. PROJ would open any such file as a grid or as a list of definitions.
 * Plain names of grids are searched among PROJ's grids.
 */
bool namesFile(const std::string& text);

/** The horizontal CRS inside compound and bound ones, to be destroyed by the caller; null when there is none. */
PJ* horizontalOf(PJ_CONTEXT* context, const PJ* crs);

}  // namespace graticule
