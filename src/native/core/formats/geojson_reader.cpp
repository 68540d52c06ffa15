#include "geojson_reader.h"

#include <cmath>
#include <optional>

namespace graticule {
namespace {

/** Collections in collections, the outermost included. */
constexpr int kMaxDepth = 16;

bool typeOf(std::string_view name, GeometryType& type) {
  constexpr std::string_view kNames[] = {"Point",           "LineString",   "Polygon",           "MultiPoint",
                                         "MultiLineString", "MultiPolygon", "GeometryCollection"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] != name) continue;
    type = static_cast<GeometryType>(i + 1);
    return true;
  }
  return false;
}

GeometryType memberOf(GeometryType type) {
  return static_cast<GeometryType>(static_cast<uint8_t>(type) - static_cast<uint8_t>(GeometryType::MultiPoint) +
                                   static_cast<uint8_t>(GeometryType::Point));
}

}  // namespace

bool GeoJsonReader::read(std::string_view text, const GeoJsonReadOptions& options, const Reprojector& reprojector,
                         Geometry& geometry, std::string& error) {
  options_ = options;
  positions_.clear();
  counts_.clear();
  nodes_.clear();
  place_.clear();
  error_.clear();
  failedAt_.clear();
  hasZ_ = options.dimension == 3;
  JsonReader json(text.data(), text.size());
  if (!readGeometry(json, 0) || (!json.atEnd() && !fail("is followed by more text")) || !reproject(reprojector)) {
    error = error_;
    return false;
  }
  finish(geometry);
  return true;
}

/** The members may come in any order: coordinates before the type are stepped over and read afterwards. */
bool GeoJsonReader::readGeometry(JsonReader& json, int depth) {
  if (json.peek() != '{') return fail("is not a GeoJSON geometry object");
  std::optional<GeometryType> type;
  std::optional<JsonReader> coordinates;
  std::optional<JsonReader> geometries;
  bool done = false;
  const auto member = [&](const std::string& key) {
    if (key == "type") {
      std::string name;
      GeometryType named;
      if (type) return fail("has 'type' twice");
      if (!json.readString(name) || !typeOf(name, named)) return fail("has a type that is not a GeoJSON geometry type");
      type = named;
      return true;
    }
    const bool list = key == "geometries";
    if (!list && key != "coordinates") return json.skip();
    if (list ? geometries.has_value() : coordinates.has_value()) return fail("has '" + key + "' twice");
    (list ? geometries : coordinates) = json;
    if (!type || list != (*type == GeometryType::GeometryCollection)) return json.skip();
    done = true;
    return readBody(json, *type, depth);
  };
  if (!json.readObject(member)) return fail("is not well-formed JSON");
  if (done) return true;
  if (!type) return fail("has no type");
  const bool list = *type == GeometryType::GeometryCollection;
  std::optional<JsonReader>& body = list ? geometries : coordinates;
  if (!body) return fail(list ? "has no geometries" : "has no coordinates");
  return readBody(*body, *type, depth);
}

bool GeoJsonReader::readBody(JsonReader& json, GeometryType type, int depth) {
  const bool list = type == GeometryType::GeometryCollection;
  place_.push_back({list ? "geometries" : "coordinates", 0});
  if (json.peek() != '[') return fail("is not an array");
  if (!(list ? readGeometries(json, depth) : readCoordinates(json, type))) return false;
  place_.pop_back();
  return true;
}

template <typename Element>
bool GeoJsonReader::readItems(JsonReader& json, Element&& element) {
  if (json.peek() != '[') return fail("is not an array");
  place_.push_back({nullptr, 0});
  const bool read = json.readArray([&] {
    if (!element()) return false;
    ++place_.back().index;
    return true;
  });
  if (!read) return fail("is not well-formed JSON");
  place_.pop_back();
  return true;
}

bool GeoJsonReader::readGeometries(JsonReader& json, int depth) {
  if (depth + 1 >= kMaxDepth) return fail("is nested more than " + std::to_string(kMaxDepth) + " deep");
  const size_t node = nodes_.size();
  openNode(GeometryType::GeometryCollection);
  return readItems(json, [&] {
    ++nodes_[node].members;
    return readGeometry(json, depth + 1);
  });
}

bool GeoJsonReader::readCoordinates(JsonReader& json, GeometryType type) {
  switch (type) {
    case GeometryType::Point: return readPoint(json);
    case GeometryType::LineString: openNode(type); return readLine(json, 0, false);
    case GeometryType::Polygon: return readRings(json);
    default: break;
  }
  const size_t node = nodes_.size();
  openNode(type);
  return readItems(json, [&] {
    ++nodes_[node].members;
    return readMembers(json, memberOf(type));
  });
}

bool GeoJsonReader::readMembers(JsonReader& json, GeometryType member) {
  if (member == GeometryType::Polygon) return readRings(json);
  openNode(member);
  if (member == GeometryType::LineString) return readLine(json, 2, false);
  nodes_.back().sequences = 1;
  counts_.push_back(1);
  return readPosition(json);
}

bool GeoJsonReader::readRings(JsonReader& json) {
  const size_t node = nodes_.size();
  openNode(GeometryType::Polygon);
  return readItems(json, [&] { return readLine(json, 4, true); }) &&
         (nodes_[node].sequences = static_cast<uint32_t>(counts_.size()) - nodes_[node].firstSequence, true);
}

/** Reads a line string. `least` 0: a single line string, which can be empty. */
bool GeoJsonReader::readLine(JsonReader& json, size_t least, bool closed) {
  const size_t begin = positions_.size() / 3;
  if (!readItems(json, [&] { return readPosition(json); })) return false;
  const size_t count = positions_.size() / 3 - begin;
  if (!closed) nodes_.back().sequences = 1;
  counts_.push_back(static_cast<uint32_t>(count));
  if (count < (least == 0 && count != 0 ? 2 : least)) {
    return fail(closed ? "is a ring of less than 4 positions" : "is a line of less than 2 positions");
  }
  if (!closed) return true;
  const double* first = positions_.data() + 3 * begin;
  const double* last = positions_.data() + positions_.size() - 3;
  return (first[0] == last[0] && first[1] == last[1]) || fail("is a ring that is not closed");
}

bool GeoJsonReader::readPoint(JsonReader& json) {
  openNode(GeometryType::Point);
  JsonReader ahead = json;
  if (ahead.take('[') && ahead.take(']')) {
    json = ahead;
    return true;
  }
  nodes_.back().sequences = 1;
  counts_.push_back(1);
  return readPosition(json);
}

bool GeoJsonReader::readPosition(JsonReader& json) {
  if (positions_.size() / 3 >= options_.maxVertices) {
    place_.clear();
    return fail("has more than " + std::to_string(options_.maxVertices) + " positions");
  }
  double ordinates[3] = {0, 0, 0};
  uint32_t n = 0;
  const bool read = readItems(json, [&] {
    if (n == 3) return fail("is a fourth number: a position has two or three");
    return json.readNumber(ordinates[n++]) || fail("is not a finite number");
  });
  if (!read) return false;
  if (n < 2) return fail("is not a position of two or three numbers");
  if (n == 3 && options_.dimension != 2) hasZ_ = true;
  if (options_.swap) std::swap(ordinates[0], ordinates[1]);
  positions_.insert(positions_.end(), ordinates, ordinates + 3);
  return true;
}

void GeoJsonReader::openNode(GeometryType type) {
  nodes_.push_back({type, 0, static_cast<uint32_t>(counts_.size()), 0});
}

bool GeoJsonReader::reproject(const Reprojector& reprojector) {
  if (reprojector.identity()) return true;
  const size_t n = positions_.size() / 3;
  std::vector<double> xy(2 * n);
  for (size_t i = 0; i < n; ++i) {
    if (reprojector.clampsLatitude() && std::fabs(positions_[3 * i + 1]) > kMercatorMaxLatitude) {
      return fail("has a latitude that Web Mercator does not reach");
    }
    xy[2 * i] = positions_[3 * i];
    xy[2 * i + 1] = positions_[3 * i + 1];
  }
  reprojector.transform(xy.data(), n);
  for (size_t i = 0; i < n; ++i) {
    if (!std::isfinite(xy[2 * i]) || !std::isfinite(xy[2 * i + 1])) {
      return fail("has a position without an image in the target coordinate reference system");
    }
    positions_[3 * i] = xy[2 * i];
    positions_[3 * i + 1] = xy[2 * i + 1];
  }
  return true;
}

/**
 * Positions are 24 bytes apart. The stride of sequences without z would mean "x, y, m", so those are moved together.
 */
void GeoJsonReader::finish(Geometry& geometry) const {
  geometry.clear();
  geometry.nodes = nodes_;
  const size_t n = positions_.size() / 3;
  const size_t stride = hasZ_ ? 24 : 16;
  geometry.swapped.reset(new uint8_t[n * stride + 1]);
  uint8_t* p = geometry.swapped.get();
  for (size_t i = 0; i < n; ++i) std::memcpy(p + i * stride, positions_.data() + 3 * i, stride);
  for (const uint32_t count : counts_) {
    geometry.sequences.push_back({p, count, static_cast<uint8_t>(stride), hasZ_});
    p += count * stride;
  }
}

bool GeoJsonReader::fail(const std::string& why) {
  if (!error_.empty()) return false;
  failedAt_ = place();
  error_ = (failedAt_.empty() ? "the geometry" : failedAt_) + " " + why;
  return false;
}

std::string GeoJsonReader::place() const {
  std::string text;
  for (const Step& step : place_) {
    if (!text.empty()) text += '/';
    text += step.member == nullptr ? std::to_string(step.index) : step.member;
  }
  return text;
}

}  // namespace graticule
