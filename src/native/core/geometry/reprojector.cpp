#include "reprojector.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "crs.h"
#include "pj_holder.h"

namespace graticule {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kEarthRadius = 6378137.0;
constexpr double kHalfWorld = kMercatorMaxNorthing;
constexpr double kMetresPerDegree = kHalfWorld / 180.0;
constexpr double kRadiansPerDegree = kPi / 180.0;
/**
 * Maximum cached reprojections: enough for every pair that a worker uses at the same time. A client that requests all
 * CRSs of the world evicts old entries.
 */
constexpr size_t kMaxEntries = 64;
constexpr int kBoxDensity = 21;

double clampLatitude(double latitude) {
  return std::clamp(latitude, -kMercatorMaxLatitude, kMercatorMaxLatitude);
}

void lonLatToMercator(double* xy, size_t n) {
  for (double* end = xy + 2 * n; xy != end; xy += 2) {
    const double latitude = clampLatitude(xy[1]);
    xy[0] *= kMetresPerDegree;
    xy[1] = kEarthRadius * std::asinh(std::tan(latitude * kRadiansPerDegree));
  }
}

void mercatorToLonLat(double* xy, size_t n) {
  for (double* end = xy + 2 * n; xy != end; xy += 2) {
    xy[0] /= kMetresPerDegree;
    xy[1] = std::atan(std::sinh(xy[1] / kEarthRadius)) / kRadiansPerDegree;
  }
}

enum class Known : uint8_t { None, LonLat84, WebMercator };

Known classifyText(std::string_view text) {
  for (const std::string_view name :
       {"EPSG:4326", "OGC:CRS84", "urn:ogc:def:crs:OGC:1.3:CRS84", "urn:ogc:def:crs:OGC::CRS84",
        "http://www.opengis.net/def/crs/OGC/1.3/CRS84", "http://www.opengis.net/def/crs/EPSG/0/4326"}) {
    if (text == name) return Known::LonLat84;
  }
  for (const std::string_view name : {"EPSG:3857", "http://www.opengis.net/def/crs/EPSG/0/3857"}) {
    if (text == name) return Known::WebMercator;
  }
  return Known::None;
}

bool equivalent(PJ_CONTEXT* context, const PJ* crs, const PJ* other) {
  return proj_is_equivalent_to_with_ctx(context, crs, other,
                                        PJ_COMP_EQUIVALENT_EXCEPT_AXIS_ORDER_GEOGCRS) != 0;
}

/** A CRS that a file spells out (WKT) may still be one of the two that need no PROJ. */
Known classifyCrs(PJ_CONTEXT* context, const PJ* crs) {
  const PjHolder wgs84(proj_create(context, "EPSG:4326"));
  if (wgs84.pj != nullptr && equivalent(context, crs, wgs84.pj)) return Known::LonLat84;
  const PjHolder mercator(proj_create(context, "EPSG:3857"));
  if (mercator.pj != nullptr && equivalent(context, crs, mercator.pj)) return Known::WebMercator;
  return Known::None;
}

bool isGeographic(const PJ* crs) {
  const PJ_TYPE type = proj_get_type(crs);
  return type == PJ_TYPE_GEOGRAPHIC_2D_CRS || type == PJ_TYPE_GEOGRAPHIC_3D_CRS;
}

std::shared_ptr<const Reprojector> closedForm(Known from, Known to) {
  if (from == Known::None || to == Known::None) return nullptr;
  const auto kind = from == to                 ? Reprojector::Kind::Identity
                    : from == Known::LonLat84 ? Reprojector::Kind::LonLatToMercator
                                              : Reprojector::Kind::MercatorToLonLat;
  return std::make_shared<Reprojector>(kind, nullptr, nullptr, false, false);
}

std::string shorten(const std::string& text) {
  return text.size() <= 80 ? text : text.substr(0, 77) + "...";
}

}  // namespace

Reprojector::~Reprojector() { proj_destroy(pj_); }

void Reprojector::transform(double* xy, size_t n) const {
  switch (kind_) {
    case Kind::Identity: return;
    case Kind::LonLatToMercator: return lonLatToMercator(xy, n);
    case Kind::MercatorToLonLat: return mercatorToLonLat(xy, n);
    case Kind::Proj: break;
  }
  if (n == 0) return;
  if (clampLatitude_) {
    for (size_t i = 0; i < n; ++i) xy[2 * i + 1] = clampLatitude(xy[2 * i + 1]);
  }
  proj_trans_generic(pj_, PJ_FWD, xy, 16, n, xy + 1, 16, n, nullptr, 0, 0, nullptr, 0, 0);
  for (double* end = xy + 2 * n; xy != end; xy += 2) {
    if (!std::isfinite(xy[0]) || !std::isfinite(xy[1])) {
      xy[0] = xy[1] = HUGE_VAL;
    } else if (clampNorthing_) {
      xy[1] = std::clamp(xy[1], -kHalfWorld, kHalfWorld);
    }
  }
}

bool Reprojector::transformBox(const Box& from, Box& to) const {
  if (kind_ != Kind::Proj) {
    double corners[4] = {from.minX, from.minY, from.maxX, from.maxY};
    transform(corners, 2);
    to = {corners[0], corners[1], corners[2], corners[3]};
  } else {
    Box source = from;
    if (clampLatitude_) {
      source.minY = clampLatitude(source.minY);
      source.maxY = clampLatitude(source.maxY);
    }
    if (proj_trans_bounds(context_.get(), pj_, PJ_FWD, source.minX, source.minY, source.maxX, source.maxY,
                          &to.minX, &to.minY, &to.maxX, &to.maxY, kBoxDensity) == 0) {
      return false;
    }
  }
  return std::isfinite(to.minX) && std::isfinite(to.minY) && std::isfinite(to.maxX) && std::isfinite(to.maxY);
}

bool Reprojector::originBox(const Box& to, Box& from) const {
  if (kind_ != Kind::LonLatToMercator && kind_ != Kind::MercatorToLonLat) return false;
  double corners[4] = {to.minX, to.minY, to.maxX, to.maxY};
  if (kind_ == Kind::LonLatToMercator) {
    mercatorToLonLat(corners, 2);
    // Latitudes beyond the square world are clamped onto its border.
    if (corners[1] <= -kMercatorMaxLatitude) corners[1] = -HUGE_VAL;
    if (corners[3] >= kMercatorMaxLatitude) corners[3] = HUGE_VAL;
  } else {
    lonLatToMercator(corners, 2);
    if (to.minY <= -kMercatorMaxLatitude) corners[1] = -HUGE_VAL;
    if (to.maxY >= kMercatorMaxLatitude) corners[3] = HUGE_VAL;
  }
  from = {corners[0], corners[1], corners[2], corners[3]};
  return true;
}

PJ_CONTEXT* ReprojectorCache::context() {
  if (context_ == nullptr) {
    PJ_CONTEXT* context = proj_context_create();
    if (context == nullptr) throw std::bad_alloc();
    context_.reset(context, proj_context_destroy);
    proj_context_set_enable_network(context, 0);
    proj_log_level(context, PJ_LOG_NONE);
  }
  return context_.get();
}

std::shared_ptr<const Reprojector> ReprojectorCache::find(std::string_view from, std::string_view to,
                                                          std::string& error) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].from == from && entries_[i].to == to) {
      std::rotate(entries_.begin(), entries_.begin() + i, entries_.begin() + i + 1);
      return entries_.front().reprojector;
    }
  }
  Entry entry{std::string(from), std::string(to), nullptr};
  entry.reprojector = make(entry.from, entry.to, error);
  if (entry.reprojector == nullptr) return nullptr;
  auto made = entry.reprojector;
  if (entries_.size() == kMaxEntries) entries_.pop_back();
  entries_.insert(entries_.begin(), std::move(entry));
  return made;
}

std::shared_ptr<const Reprojector> ReprojectorCache::make(const std::string& from, const std::string& to,
                                                          std::string& error) {
  if (auto known = closedForm(classifyText(from), classifyText(to))) return known;
  const PjHolder source(createCrs(context(), from, error));
  if (source.pj == nullptr) return nullptr;
  const PjHolder target(createCrs(context(), to, error));
  if (target.pj == nullptr) return nullptr;
  const Known targetKnown = classifyCrs(context(), target.pj);
  if (auto known = closedForm(classifyCrs(context(), source.pj), targetKnown)) return known;
  if (equivalent(context(), source.pj, target.pj)) {
    return std::make_shared<Reprojector>(Reprojector::Kind::Identity, nullptr, nullptr, false, false);
  }
  PjHolder path(proj_create_crs_to_crs_from_pj(context(), source.pj, target.pj, nullptr, nullptr));
  PjHolder normal(path.pj == nullptr ? nullptr : proj_normalize_for_visualization(context(), path.pj));
  if (normal.pj == nullptr) {
    error = "there is no transformation from " + shorten(from) + " to " + shorten(to);
    return nullptr;
  }
  return std::make_shared<Reprojector>(Reprojector::Kind::Proj, context_, normal.release(),
                                       isGeographic(source.pj), targetKnown == Known::WebMercator);
}

PJ* createCrs(PJ_CONTEXT* context, const std::string& text, std::string& error) {
  // Codes, URNs, URLs, WKT, PROJJSON and PROJ strings all contain one of these characters. PROJ would search a bare
  // word among all names that resemble it.
  const bool definition = text.find_first_of(":[{=") != std::string::npos && text.find('\0') == std::string::npos;
  PJ* pj = definition && !namesFile(text) ? proj_create(context, text.c_str()) : nullptr;
  if (pj != nullptr && proj_is_crs(pj) != 0) return pj;
  proj_destroy(pj);
  error = "unknown coordinate reference system: " + shorten(text);
  return nullptr;
}

}  // namespace graticule
