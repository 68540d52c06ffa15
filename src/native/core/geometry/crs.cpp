#include "crs.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "pj_holder.h"
#include "reprojector.h"

namespace graticule {
namespace {

/** PROJ's confidence in percent above which a CRS without a code counts as the CRS that it resembles. */
constexpr int kMinConfidence = 90;

std::string textOf(const char* text) { return text == nullptr ? std::string() : std::string(text); }

/**
 * Whether a part of a definition contains characters that only paths and URLs have. A JSON escape can represent any
 * of them.
 */
bool hasPath(const std::string& part) {
  return part.find_first_of("/\\~") != std::string::npos || part.find("..") != std::string::npos ||
         part.find("//") != std::string::npos;
}

/** Returns the end of the value that starts at `at`: the end of its string in WKT, otherwise the end of the text. */
size_t endOfValue(const std::string& text, size_t at) {
  const bool isInWkt = text.rfind('[', at) != std::string::npos || text.rfind('(', at) != std::string::npos;
  if (!isInWkt) return text.size();
  const size_t end = std::min(text.find("\"]", at), text.find("\")", at));
  return std::min(end, text.size());
}

struct Axis {
  const char* name = "";
  const char* direction = "";
  double factor = 1;
  const char* unit = "";
};

bool readAxis(PJ_CONTEXT* context, const PJ* cs, int index, Axis& axis) {
  return proj_cs_get_axis_info(context, cs, index, &axis.name, nullptr, &axis.direction, &axis.factor, &axis.unit,
                               nullptr, nullptr) != 0 &&
         axis.name != nullptr && axis.direction != nullptr;
}

/** The rule by which PROJ itself swaps axes for visualization. */
bool northingFirst(const Axis& first, const Axis& second) {
  if (std::strcmp(first.direction, "north") == 0 && std::strcmp(second.direction, "east") == 0) return true;
  // Polar CRS, where both axes point the same way: EPSG:32661 is northing first, EPSG:5041 is not.
  return std::strcmp(first.direction, second.direction) == 0 && strncasecmp(first.name, "northing", 8) == 0 &&
         strncasecmp(second.name, "easting", 7) == 0;
}

void describeAxes(PJ_CONTEXT* context, const PJ* horizontal, CrsDescription& out) {
  const PjHolder cs(proj_crs_get_coordinate_system(context, horizontal));
  Axis first;
  Axis second;
  if (cs.pj == nullptr || !readAxis(context, cs.pj, 0, first) || !readAxis(context, cs.pj, 1, second)) return;
  out.axisSwapped = northingFirst(first, second);
  out.unit = textOf(first.unit);
  out.metresPerUnit = first.factor;
  if (!out.geographic) return;
  double semiMajor = 6378137.0;
  const PjHolder ellipsoid(proj_get_ellipsoid(context, horizontal));
  if (ellipsoid.pj != nullptr) {
    proj_ellipsoid_get_parameters(context, ellipsoid.pj, &semiMajor, nullptr, nullptr, nullptr);
  }
  // The factor of an angular unit is radians.
  out.metresPerUnit = semiMajor * first.factor;
}

/** No CRS with a code has a datum of this name, which PROJ takes a fifth of a second to find out. */
bool hasUnknownDatum(PJ_CONTEXT* context, const PJ* horizontal) {
  const PjHolder geodetic(proj_crs_get_geodetic_crs(context, horizontal));
  if (geodetic.pj == nullptr) return false;
  const PjHolder datum(proj_crs_get_datum(context, geodetic.pj));
  return datum.pj != nullptr && strcasecmp(proj_get_name(datum.pj), "unknown") == 0;
}

void identify(PJ_CONTEXT* context, const PJ* crs, const PJ* horizontal, bool compares, CrsDescription& out) {
  out.authority = textOf(proj_get_id_auth_name(crs, 0));
  out.code = textOf(proj_get_id_code(crs, 0));
  if (!compares || !out.authority.empty() || hasUnknownDatum(context, horizontal)) return;
  int* confidence = nullptr;
  PJ_OBJ_LIST* found = proj_identify(context, crs, "EPSG", nullptr, &confidence);
  if (found != nullptr && proj_list_get_count(found) > 0 && confidence[0] >= kMinConfidence) {
    const PjHolder best(proj_list_get(context, found, 0));
    out.authority = textOf(proj_get_id_auth_name(best.pj, 0));
    out.code = textOf(proj_get_id_code(best.pj, 0));
  }
  proj_int_list_destroy(confidence);
  proj_list_destroy(found);
}

void describeArea(PJ_CONTEXT* context, const PJ* crs, CrsDescription& out) {
  Box area;
  const char* name = nullptr;
  // PROJ returns -1000 for an unknown bound.
  if (proj_get_area_of_use(context, crs, &area.minX, &area.minY, &area.maxX, &area.maxY, &name) == 0) return;
  if (area.minX < -180 || area.minY < -90) return;
  out.areaOfUse = area;
  out.areaName = textOf(name);
}

}  // namespace

PJ* horizontalOf(PJ_CONTEXT* context, const PJ* crs) {
  PJ* current = proj_clone(context, crs);
  while (current != nullptr) {
    const PJ_TYPE type = proj_get_type(current);
    PJ* inner = type == PJ_TYPE_BOUND_CRS      ? proj_get_source_crs(context, current)
                : type == PJ_TYPE_COMPOUND_CRS ? proj_crs_get_sub_crs(context, current, 0)
                                               : nullptr;
    if (inner == nullptr) break;
    proj_destroy(current);
    current = inner;
  }
  return current;
}

bool namesFile(const std::string& text) {
  std::string lower(text.size(), '\0');
  std::transform(text.begin(), text.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  // +nadgrids, +geoidgrids, +grids, +xy_grids, +file, +init and the like.
  for (const char* key : {"grids", "init", "file", "model"}) {
    const size_t length = std::strlen(key);
    for (size_t at = lower.find(key); at != std::string::npos; at = lower.find(key, at + length)) {
      size_t sign = at + length;
      while (sign < lower.size() && std::isspace(static_cast<unsigned char>(lower[sign])) != 0) ++sign;
      if (sign >= lower.size() || lower[sign] != '=') continue;
      if (hasPath(lower.substr(sign, endOfValue(lower, sign) - sign))) return true;
    }
  }
  // WKT: names of parameters have no slash.
  for (const char* key : {"parameterfile", "proj4_grids"}) {
    for (size_t at = lower.find(key); at != std::string::npos; at = lower.find(key, at + 1)) {
      if (hasPath(lower.substr(at, endOfValue(lower, at) - at))) return true;
    }
  }
  // PROJJSON: parameters that are files have a string as their value.
  if (lower.find('{') == std::string::npos) return false;
  for (size_t at = lower.find("\"value\""); at != std::string::npos; at = lower.find("\"value\"", at + 1)) {
    const size_t begin = lower.find_first_not_of(" \t\r\n:", at + 7);
    if (begin == std::string::npos || lower[begin] != '"') continue;
    if (hasPath(lower.substr(begin + 1, std::min(lower.find('"', begin + 1), lower.size()) - begin - 1))) return true;
  }
  return false;
}

bool describeCrs(PJ_CONTEXT* context, const std::string& text, CrsDescription& out, std::string& error, bool identifies) {
  const PjHolder crs(createCrs(context, text, error));
  if (crs.pj == nullptr) return false;
  const PjHolder horizontal(horizontalOf(context, crs.pj));
  if (horizontal.pj == nullptr) {
    error = "the coordinate reference system has no horizontal part";
    return false;
  }
  out = {};
  out.name = textOf(proj_get_name(crs.pj));
  const PJ_TYPE type = proj_get_type(horizontal.pj);
  out.geographic = type == PJ_TYPE_GEOGRAPHIC_2D_CRS || type == PJ_TYPE_GEOGRAPHIC_3D_CRS;
  describeAxes(context, horizontal.pj, out);
  identify(context, crs.pj, horizontal.pj, identifies, out);
  constexpr const char* kOneLine[] = {"MULTILINE=NO", nullptr};
  out.wkt = textOf(proj_as_wkt(context, crs.pj, PJ_WKT2_2019, kOneLine));
  out.projjson = textOf(proj_as_projjson(context, crs.pj, kOneLine));
  out.wkt1 = textOf(proj_as_wkt(context, crs.pj, PJ_WKT1_GDAL, kOneLine));
  describeArea(context, crs.pj, out);
  return true;
}

std::vector<CrsEntry> listCrs(PJ_CONTEXT* context) {
  std::vector<CrsEntry> entries;
  PROJ_CRS_LIST_PARAMETERS* parameters = proj_get_crs_list_parameters_create();
  if (parameters == nullptr) return entries;
  const PJ_TYPE types[] = {PJ_TYPE_GEOGRAPHIC_2D_CRS, PJ_TYPE_PROJECTED_CRS};
  parameters->types = types;
  parameters->typesCount = 2;
  parameters->allow_deprecated = 0;
  int count = 0;
  PROJ_CRS_INFO** list = proj_get_crs_info_list_from_database(context, "EPSG", parameters, &count);
  proj_get_crs_list_parameters_destroy(parameters);
  if (list == nullptr) return entries;
  entries.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; i++) {
    const PROJ_CRS_INFO& info = *list[i];
    CrsEntry entry;
    entry.code = textOf(info.code);
    entry.name = textOf(info.name);
    entry.areaName = textOf(info.area_name);
    entry.geographic = info.type == PJ_TYPE_GEOGRAPHIC_2D_CRS;
    entry.hasArea = info.bbox_valid != 0;
    if (entry.hasArea) {
      entry.area.minX = info.west_lon_degree;
      entry.area.minY = info.south_lat_degree;
      entry.area.maxX = info.east_lon_degree;
      entry.area.maxY = info.north_lat_degree;
    }
    entries.push_back(std::move(entry));
  }
  proj_crs_info_list_destroy(list);
  return entries;
}

}  // namespace graticule
