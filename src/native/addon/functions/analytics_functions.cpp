// Analytics over typed arrays: clusters, H3 cells, buffers, joins.
#include "analytics_functions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../../core/analytics/centroid.h"
#include "../../core/analytics/dbscan.h"
#include "../../core/analytics/ground_buffer.h"
#include "../../core/analytics/h3_cells.h"
#include "../../core/analytics/kmeans.h"
#include "../../core/analytics/lonlat_polygon.h"
#include "../../core/analytics/point_tree.h"
#include "../../core/analytics/projected_geometry.h"
#include "../../core/analytics/spatial_join.h"
#include "../arrays.h"

namespace graticule::addon {
namespace {

/** Maximum candidates per possible pair of a join. Geometries whose envelopes meet may still not match. */
constexpr double kCandidatesPerPair = 20;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

napi_value takeText(napi_env env, ByteBuffer& text) {
  napi_value value = toText(env, reinterpret_cast<const char*>(text.data()), text.size());
  text.clear();
  return value;
}

int requireDimensions(napi_env env, napi_value value, size_t length) {
  const double dimensions = requireNumber(env, value, "dimensions");
  if ((dimensions != 2 && dimensions != 3) || length % static_cast<size_t>(dimensions) != 0) {
    throw Failure{"points have 2 or 3 coordinates each", true};
  }
  return static_cast<int>(dimensions);
}

void requireFinite(const Elements<double>& points) {
  for (size_t i = 0; i < points.size; ++i) {
    if (!std::isfinite(points.data[i])) throw Failure{"a coordinate is not a finite number", true};
  }
}

uint32_t requireCount(napi_env env, napi_value value, const char* what) {
  const double number = requireNumber(env, value, what);
  if (!(number >= 1) || number != std::trunc(number)) throw Failure{std::string(what) + " must be at least 1", true};
  return number > 4294967295.0 ? 4294967295u : static_cast<uint32_t>(number);
}

}  // namespace

/** (blobs, from, to, degrees) -> Float64Array of x, y pairs in the CRS `to`; NaN where there is no centroid. */
napi_value centroids(napi_env env, napi_callback_info info) {
  const Arguments<4> arguments(env, info);
  const bool degrees = requireBoolean(env, arguments[3], "degrees");
  const auto reprojector = reprojectorFor(env, requireText(env, arguments[1], "from"), requireText(env, arguments[2], "to"));
  const uint32_t n = lengthOf(env, arguments[0]);
  double* out = nullptr;
  napi_value result = makeArray(env, napi_float64_array, size_t{n} * 2, out);
  Geometry& geometry = environmentOf(env).geometry;
  eachBlob(env, arguments[0], [&](uint32_t i, const uint8_t* blob, size_t size) {
    double* xy = out + 2 * size_t{i};
    xy[0] = xy[1] = kNaN;
    if (readInto(blob, size, geometry) && centroidOf(geometry, xy[0], xy[1], degrees)) reprojector->transform(xy, 1);
    if (!std::isfinite(xy[0]) || !std::isfinite(xy[1])) xy[0] = xy[1] = kNaN;
  });
  return result;
}

/** (points, dimensions, eps, minPoints) -> Int32Array */
napi_value dbscan(napi_env env, napi_callback_info info) {
  const Arguments<4> arguments(env, info);
  const auto points = requireDoubles(env, arguments[0], "points");
  const int dimensions = requireDimensions(env, arguments[1], points.size);
  requireFinite(points);
  const double eps = requireNumber(env, arguments[2], "eps");
  if (!(eps > 0) || !std::isfinite(eps)) throw Failure{"eps must be positive", true};
  const uint32_t minPoints = requireCount(env, arguments[3], "minPoints");
  int32_t* labels = nullptr;
  const size_t n = points.size / static_cast<size_t>(dimensions);
  napi_value result = makeArray(env, napi_int32_array, n, labels);
  graticule::dbscan(points.data, n, dimensions, eps, minPoints, labels);
  return result;
}

/** (points, dimensions, k) -> clusters */
napi_value createKMeans(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  const auto points = requireDoubles(env, arguments[0], "points");
  const int dimensions = requireDimensions(env, arguments[1], points.size);
  requireFinite(points);
  const uint32_t k = requireCount(env, arguments[2], "k");
  return toExternal(env, graticule::createKMeans(points.data, points.size / static_cast<size_t>(dimensions), dimensions, k));
}

/** (clusters) -> boolean: that was the last iteration. */
napi_value iterateKMeans(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  return toBoolean(env, requireExternal<KMeans>(env, arguments[0], "clusters").iterate());
}

/** (clusters) -> Int32Array */
napi_value readKMeans(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  const auto& clusters = requireExternal<KMeans>(env, arguments[0], "clusters");
  int32_t* labels = nullptr;
  napi_value result = makeArray(env, napi_int32_array, clusters.size(), labels);
  clusters.number(labels);
  return result;
}

/** (points, dimensions, values) -> tree */
napi_value createPointTree(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  const auto points = requireDoubles(env, arguments[0], "points");
  const int dimensions = requireDimensions(env, arguments[1], points.size);
  requireFinite(points);
  const size_t n = points.size / static_cast<size_t>(dimensions);
  const auto values = requireDoubles(env, arguments[2], "values");
  if (values.size != n) throw Failure{"there must be a value for each point", true};
  return toExternal(env, std::make_unique<PointTree>(points.data, n, dimensions, values.data));
}

/** (tree, radius, first, last, counts: Float64Array, sums: Float64Array) */
napi_value sumNeighbours(napi_env env, napi_callback_info info) {
  const Arguments<6> arguments(env, info);
  const auto& tree = requireExternal<PointTree>(env, arguments[0], "tree");
  const double radius = requireNumber(env, arguments[1], "radius");
  if (!(radius > 0) || !std::isfinite(radius)) throw Failure{"radius must be positive", true};
  const uint32_t first = requireWhole(env, arguments[2], "first", 0, static_cast<double>(tree.size()));
  const uint32_t last = requireWhole(env, arguments[3], "last", first, static_cast<double>(tree.size()));
  const auto counts = requireDoubles(env, arguments[4], "counts");
  const auto sums = requireDoubles(env, arguments[5], "sums");
  if (counts.size != tree.size() || sums.size != tree.size()) throw Failure{"there must be a place for each point", true};
  tree.sumNeighbours(radius, first, last, counts.data, sums.data);
  return nullptr;
}

/** (positions, resolution) -> BigUint64Array */
napi_value h3Cells(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const auto positions = requireDoubles(env, arguments[0], "positions");
  const double resolution = requireNumber(env, arguments[1], "resolution");
  if (!(resolution >= 0 && resolution <= kMaxH3Resolution) || resolution != std::trunc(resolution)) {
    throw Failure{"resolution must be 0 to 15", true};
  }
  uint64_t* cells = nullptr;
  napi_value result = makeArray(env, napi_biguint64_array, positions.size / 2, cells);
  graticule::h3Cells(positions.data, positions.size / 2, static_cast<int>(resolution), cells);
  return result;
}

/** (cells) -> string[] */
napi_value h3Polygons(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  const auto cells = requireElements<uint64_t>(env, arguments[0], napi_biguint64_array, "cells");
  Environment& environment = environmentOf(env);
  napi_value result;
  check(napi_create_array_with_length(env, cells.size, &result));
  for (size_t i = 0; i < cells.size; ++i) {
    double corners[2 * kMaxH3Vertices];
    const int n = h3Boundary(cells.data[i], corners);
    if (n == 0) throw Failure{"there is no such H3 cell", false};
    environment.text.clear();
    writeLonLatRing(geosOf(environment), corners, static_cast<size_t>(n), environment.text);
    check(napi_set_element(env, result, static_cast<uint32_t>(i), takeText(env, environment.text)));
  }
  return result;
}

/** (positions, ends) -> string[] */
napi_value ringsToGeoJson(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const auto positions = requireDoubles(env, arguments[0], "positions");
  const auto ends = requireElements<uint32_t>(env, arguments[1], napi_uint32_array, "ends");
  Environment& environment = environmentOf(env);
  napi_value result;
  check(napi_create_array_with_length(env, ends.size, &result));
  size_t begin = 0;
  for (size_t i = 0; i < ends.size; ++i) {
    const size_t end = ends.data[i];
    if (end < begin || end > positions.size / 2) throw Failure{"the ends do not fit the positions", true};
    environment.text.clear();
    writeLonLatRing(geosOf(environment), positions.data + 2 * begin, end - begin, environment.text);
    check(napi_set_element(env, result, static_cast<uint32_t>(i), takeText(env, environment.text)));
    begin = end;
  }
  return result;
}

/** (blobs, from, metres) -> GeoJSON of the union of their buffers, `null` when it is empty. */
napi_value bufferUnion(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  const auto reprojector = reprojectorFor(env, requireText(env, arguments[1], "from"), "OGC:CRS84");
  const double metres = requireNumber(env, arguments[2], "metres");
  if (!(metres >= 0) || !std::isfinite(metres)) throw Failure{"metres must not be negative", true};
  Environment& environment = environmentOf(env);
  GroundBuffers buffers(geosOf(environment), environment.reprojectors, metres);
  ProjectedGeometry projected;
  eachBlob(env, arguments[0], [&](uint32_t, const uint8_t* blob, size_t size) {
    if (!readInto(blob, size, environment.geometry)) return;
    if (projected.project(environment.geometry, *reprojector)) buffers.add(projected.geometry());
  });
  environment.text.clear();
  writeGeoJson(geosOf(environment), buffers.unite().get(), environment.text);
  return takeText(env, environment.text);
}

namespace {

std::unique_ptr<SpatialJoin> joinOf(std::shared_ptr<Geos> geos, const std::string& predicate, double metres) {
  if (predicate == "dwithin") return std::make_unique<SpatialJoin>(geos, metres);
  if (predicate == "contains") return std::make_unique<SpatialJoin>(geos, Predicate::Contains);
  if (predicate == "within") return std::make_unique<SpatialJoin>(geos, Predicate::Within);
  if (predicate == "intersects") return std::make_unique<SpatialJoin>(geos, Predicate::Intersects);
  throw Failure{"there is no predicate " + predicate, true};
}

/** A join, and how geometries of either side come into its plane. */
struct JoinState : Accounted {
  std::unique_ptr<SpatialJoin> all;
  std::shared_ptr<const Reprojector> left;
  std::shared_ptr<const Reprojector> right;
};

JoinState& joinStateOf(napi_env env, napi_value value) { return requireExternal<JoinState>(env, value, "join"); }

}  // namespace

/** (leftCrs, rightCrs, predicate, metres) -> join */
napi_value createJoin(napi_env env, napi_callback_info info) {
  const Arguments<4> arguments(env, info);
  const std::string leftCrs = requireText(env, arguments[0], "leftCrs");
  const std::string predicate = requireText(env, arguments[2], "predicate");
  const std::string plane = predicate == "dwithin" ? "OGC:CRS84" : leftCrs;
  auto state = std::make_unique<JoinState>();
  state->all = joinOf(sharedGeosOf(environmentOf(env)), predicate, requireNumber(env, arguments[3], "metres"));
  state->left = reprojectorFor(env, leftCrs, plane);
  state->right = reprojectorFor(env, requireText(env, arguments[1], "rightCrs"), plane);
  return toExternal(env, std::move(state));
}

/** (join, right blobs) */
napi_value addToJoin(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  JoinState& state = joinStateOf(env, arguments[0]);
  eachProjected(env, arguments[1], *state.right,
                [&](uint32_t, const uint8_t* blob, size_t size) {
                  state.all->add(blob, size);
                  state.grow(env, size);
                });
  return nullptr;
}

/** (join, left blobs, maxPairs) -> {pairs: Uint32Array of left, right, looks: number} */
napi_value matchJoin(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  JoinState& state = joinStateOf(env, arguments[0]);
  const double maxPairs = requireNumber(env, arguments[2], "maxPairs");
  std::vector<uint32_t> pairs;
  std::vector<uint32_t> matches;
  double candidates = 0;
  uint32_t looks = 0;
  eachProjected(env, arguments[1], *state.left, [&](uint32_t i, const uint8_t* blob, size_t size) {
    ++looks;
    matches.clear();
    candidates += static_cast<double>(state.all->match(blob, size, matches));
    for (const uint32_t right : matches) pairs.insert(pairs.end(), {i, right});
    return static_cast<double>(pairs.size() / 2) < maxPairs && candidates < maxPairs * kCandidatesPerPair;
  });
  uint32_t* out = nullptr;
  napi_value list = makeArray(env, napi_uint32_array, pairs.size(), out);
  std::copy(pairs.begin(), pairs.end(), out);
  napi_value result;
  check(napi_create_object(env, &result));
  setProperty(env, result, "pairs", list);
  setProperty(env, result, "looks", toNumber(env, looks));
  return result;
}

}  // namespace graticule::addon
