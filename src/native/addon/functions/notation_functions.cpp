// Grid references and angles by GeographicLib.
#include "notation_functions.h"

#include <GeographicLib/DMS.hpp>
#include <GeographicLib/GARS.hpp>
#include <GeographicLib/Georef.hpp>
#include <GeographicLib/MGRS.hpp>
#include <GeographicLib/UTMUPS.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "../arrays.h"

namespace graticule::addon {
namespace {

using GeographicLib::GeographicErr;

enum class Notation { Mgrs, Utm, GeoRef, Gars, Degrees, Minutes, Seconds };

struct Form {
  Notation notation;
  int digits;
  bool rounds;
  bool spaces;
  /** 180 degrees east are in zone 1, not in zone 60. */
  bool seamInZone1;
  /** The letter of a UTM zone is the hemisphere, not the band. */
  bool hemispheres;
};

struct GridPosition {
  int zone;
  bool north;
  double x;
  double y;
};

/**
 * Tolerance for computed positions that rounding puts short of their cell: in units of the last digit, in metres, and
 * in degrees.
 */
constexpr double kShortfall = 1e-6;
constexpr double kHalfMicrometre = 5e-7;
constexpr double kHalfMicrometreDegrees = 5e-12;
/** Metres of an MGRS square. */
constexpr double kSquare = 100'000;
constexpr double kMinutesPerDegree = 60;
/** Digits of minutes in a GEOREF. */
constexpr int kWholeMinutes = 2;
/** Letters that name an MGRS square. */
constexpr size_t kSquareLetters = 2;

Notation requireNotation(napi_env env, napi_value value) {
  constexpr const char* kNames[] = {"MGRS", "UTM", "GeoRef", "GARS", "DD", "DDM", "DMS"};
  const std::string name = requireText(env, value, "the notation");
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) throw Failure{"there is no notation '" + name + "'", true};
  return static_cast<Notation>(found - std::begin(kNames));
}

double roundTo(double value, double unit) { return std::round(value / unit) * unit; }

/** Degrees within a cell of a grid: the antimeridian and the north pole are in the last cells. */
double insideGrid(double degrees, double limit) {
  return std::clamp(degrees + kHalfMicrometreDegrees, -limit, std::nextafter(limit, 0));
}

GridPosition project(double lon, double lat, bool seamInZone1) {
  using GeographicLib::UTMUPS;
  const bool keepsLastZone = lon >= 180 && !seamInZone1 && UTMUPS::StandardZone(lat, lon) != UTMUPS::UPS;
  GridPosition position;
  // A negative zero is not south of the equator.
  UTMUPS::Forward(lat + 0.0, lon, position.zone, position.north, position.x, position.y,
                  keepsLastZone ? int{UTMUPS::MAXUTMZONE} : int{UTMUPS::STANDARD});
  return position;
}

std::string joinParts(std::initializer_list<std::string> parts, bool spaces) {
  std::string text;
  for (const std::string& part : parts) {
    if (spaces && !text.empty() && !part.empty()) text += ' ';
    text += part;
  }
  return text;
}

std::string formatMgrs(double lon, double lat, const Form& form) {
  const GridPosition position = project(lon, lat, form.seamInZone1);
  const double unit = kSquare / std::pow(10, form.digits);
  const bool rounds = form.rounds && form.digits > 0;
  const double shortfall = rounds ? kHalfMicrometre : std::min(kHalfMicrometre, unit * kShortfall);
  const double x = (rounds ? roundTo(position.x, unit) : position.x) + shortfall;
  const double y = (rounds ? roundTo(position.y, unit) : position.y) + shortfall;
  std::string text;
  try {
    GeographicLib::MGRS::Forward(position.zone, position.north, x, y, lat, form.digits, text);
  } catch (const GeographicErr&) {
    // Rounded into a square that no part of the band is in.
    GeographicLib::MGRS::Forward(position.zone, position.north, x, y, form.digits, text);
  }
  const size_t digits = 2 * static_cast<size_t>(form.digits);
  const size_t zone = text.size() - digits - kSquareLetters;
  const size_t easting = zone + kSquareLetters;
  return joinParts({text.substr(0, zone), text.substr(zone, kSquareLetters), text.substr(easting, digits / 2),
                    text.substr(easting + digits / 2)},
                   form.spaces);
}

/** `05S 750155 4377006`: metres are truncated. */
std::string formatUtm(double lon, double lat, const Form& form) {
  const GridPosition position = project(lon, lat, form.seamInZone1);
  if (position.zone == GeographicLib::UTMUPS::UPS) throw GeographicErr("UTM does not reach the poles");
  std::string zone;
  GeographicLib::MGRS::Forward(position.zone, position.north, position.x, position.y, lat, -1, zone);
  if (form.hemispheres) zone.back() = position.north ? 'N' : 'S';
  char easting[16];
  char northing[16];
  std::snprintf(easting, sizeof easting, "%06.0f", std::floor(position.x + kShortfall));
  std::snprintf(northing, sizeof northing, "%07.0f", std::floor(position.y + kShortfall));
  return joinParts({zone, easting, northing}, form.spaces);
}

std::string formatGeoref(double lon, double lat, const Form& form) {
  if (form.rounds && form.digits > 0) {
    const double unit = std::pow(10, kWholeMinutes - std::max(form.digits, kWholeMinutes));
    lon = roundTo((lon + 180) * kMinutesPerDegree, unit) / kMinutesPerDegree - 180;
    lat = roundTo((lat + 90) * kMinutesPerDegree, unit) / kMinutesPerDegree - 90;
  }
  std::string text;
  GeographicLib::Georef::Forward(insideGrid(lat, 90), insideGrid(lon, 180), form.digits, text);
  return text;
}

std::string formatAngles(double lon, double lat, const Form& form) {
  using GeographicLib::DMS;
  const DMS::component last = form.notation == Notation::Degrees   ? DMS::DEGREE
                              : form.notation == Notation::Minutes ? DMS::MINUTE
                                                                   : DMS::SECOND;
  const auto decimals = static_cast<unsigned>(form.digits);
  // GeographicLib would round ties to even numbers. A negative zero has no hemisphere.
  const double units = std::pow(kMinutesPerDegree, last);
  const double scale = std::pow(10, form.digits);
  const double latitude = std::round((lat + 0.0) * units * scale) / scale / units;
  const double longitude = std::round((lon + 0.0) * units * scale) / scale / units;
  return DMS::Encode(latitude, last, decimals, DMS::LATITUDE, ' ') + ' ' +
         DMS::Encode(longitude, last, decimals, DMS::LONGITUDE, ' ');
}

std::string formatPosition(double lon, double lat, const Form& form) {
  std::string text;
  switch (form.notation) {
    case Notation::Mgrs: return formatMgrs(lon, lat, form);
    case Notation::Utm: return formatUtm(lon, lat, form);
    case Notation::GeoRef: return formatGeoref(lon, lat, form);
    case Notation::Gars: GeographicLib::GARS::Forward(insideGrid(lat, 90), insideGrid(lon, 180), 2, text); return text;
    default: return formatAngles(lon, lat, form);
  }
}

void unproject(const GridPosition& position, double& lon, double& lat) {
  GeographicLib::UTMUPS::Reverse(position.zone, position.north, position.x, position.y, lat, lon);
}

void parseMgrs(const std::string& text, double& lon, double& lat) {
  GridPosition position;
  int digits;
  GeographicLib::MGRS::Reverse(text, position.zone, position.north, position.x, position.y, digits, false);
  if (digits < 0) throw GeographicErr("is a zone without a square");
  unproject(position, lon, lat);
}

/** `05S:750155:4377006`: a band from N on is in the north. */
void parseUtm(const std::string& text, double& lon, double& lat) {
  GridPosition position;
  char band;
  if (std::sscanf(text.c_str(), "%d%c:%lf:%lf", &position.zone, &band, &position.x, &position.y) != 4) {
    throw GeographicErr("is no UTM");
  }
  if (position.zone < GeographicLib::UTMUPS::MINUTMZONE) throw GeographicErr("is no zone of UTM");
  position.north = band >= 'N';
  unproject(position, lon, lat);
}

/** `39:30:22.7N,150:05:25.8W` */
void parseAngles(const std::string& text, double& lon, double& lat) {
  const size_t comma = text.find(',');
  if (comma == std::string::npos) throw GeographicErr("is one angle only");
  GeographicLib::DMS::DecodeLatLon(text.substr(0, comma), text.substr(comma + 1), lat, lon);
  if (std::fabs(lon) > 180) throw GeographicErr("is beyond 180 degrees");
}

void parsePosition(const std::string& text, Notation notation, bool centre, double& lon, double& lat) {
  int digits = 0;
  switch (notation) {
    case Notation::Mgrs: return parseMgrs(text, lon, lat);
    case Notation::Utm: return parseUtm(text, lon, lat);
    case Notation::GeoRef: GeographicLib::Georef::Reverse(text, lat, lon, digits, false); break;
    case Notation::Gars: GeographicLib::GARS::Reverse(text, lat, lon, digits, centre); break;
    default: return parseAngles(text, lon, lat);
  }
  if (digits < 0) throw GeographicErr("is a square of 15 degrees");
}

}  // namespace

/** (lonLats: Float64Array, notation, digits, rounds, spaces, seamInZone1, hemispheres) -> text of each, null where there is none */
napi_value formatPositions(napi_env env, napi_callback_info info) {
  const Arguments<7> arguments(env, info);
  const Elements<double> lonLats = requireDoubles(env, arguments[0], "lonLats");
  const Form form{requireNotation(env, arguments[1]),
                  static_cast<int>(requireWhole(env, arguments[2], "digits", 0, 10)),
                  requireBoolean(env, arguments[3], "rounds"),
                  requireBoolean(env, arguments[4], "spaces"),
                  requireBoolean(env, arguments[5], "seamInZone1"),
                  requireBoolean(env, arguments[6], "hemispheres")};
  napi_value list;
  check(napi_create_array_with_length(env, lonLats.size / 2, &list));
  for (uint32_t i = 0; i < lonLats.size / 2; ++i) {
    const HandleScope scope(env);
    napi_value text;
    try {
      text = toText(env, formatPosition(lonLats.data[2 * i], lonLats.data[2 * i + 1], form));
    } catch (const GeographicErr&) {
      check(napi_get_null(env, &text));
    }
    check(napi_set_element(env, list, i, text));
  }
  return list;
}

/** (strings, notation, centre) -> lon, lat of each, NaN where the text is not of this notation */
napi_value parsePositions(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  const uint32_t count = lengthOf(env, arguments[0]);
  const Notation notation = requireNotation(env, arguments[1]);
  const bool centre = requireBoolean(env, arguments[2], "centre");
  double* lonLats = nullptr;
  const napi_value result = makeArray(env, napi_float64_array, 2 * size_t{count}, lonLats);
  for (uint32_t i = 0; i < count; ++i) {
    const HandleScope scope(env);
    napi_value element;
    check(napi_get_element(env, arguments[0], i, &element));
    double lon = NAN;
    double lat = NAN;
    try {
      parsePosition(requireText(env, element, "the text"), notation, centre, lon, lat);
    } catch (const GeographicErr&) {
      lon = lat = NAN;
    }
    lonLats[2 * i] = lon;
    lonLats[2 * i + 1] = lat;
  }
  return result;
}

}  // namespace graticule::addon
