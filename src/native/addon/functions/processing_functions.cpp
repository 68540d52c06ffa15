// Processing of geometries, a batch at a time.
#include "processing_functions.h"

#include <algorithm>
#include <cmath>

#include "../../core/processing/collection_operation.h"
#include "../../core/processing/geometry_operation.h"
#include "../../core/processing/overlay.h"
#include "../../core/geometry/plain_blob.h"
#include "../../core/processing/unions.h"
#include "../arrays.h"

namespace graticule::addon {
namespace {

int32_t requireSrsId(napi_env env, napi_value value) {
  const double number = requireNumber(env, value, "srsId");
  if (number != std::trunc(number) || std::fabs(number) > 2147483647) throw Failure{"srsId must be an integer", true};
  return static_cast<int32_t>(number);
}

napi_value null(napi_env env) {
  napi_value value;
  check(napi_get_null(env, &value));
  return value;
}

/** Why GEOS could not do something. */
std::string reasonOf(Environment& environment, const char* otherwise) {
  const std::string& error = geosOf(environment).error();
  return error.empty() ? otherwise : error;
}

/** A geometry argument, and why there is none where one was sent; both are empty where none was, or an empty one. */
struct Operand {
  GeosGeometry geometry;
  std::string reason;
};

Operand readOperand(Environment& environment, const uint8_t* blob, size_t size) {
  Geos& geos = geosOf(environment);
  if (blob == nullptr) return {geos.own(nullptr), {}};
  BlobHeader header;
  const ReadStatus status = readBlob(blob, size, header, environment.geometry);
  if (status != ReadStatus::Ok) return {geos.own(nullptr), describe(status)};
  if (header.empty || environment.geometry.empty()) return {geos.own(nullptr), {}};
  geos.forgetError();
  GeosGeometry geometry = geos.read(environment.geometry);
  if (geometry != nullptr) return {std::move(geometry), {}};
  return {std::move(geometry), reasonOf(environment, "the geometry cannot be read")};
}

/** The same, and valid. */
Operand readRepaired(Environment& environment, const uint8_t* blob, size_t size) {
  Operand operand = readOperand(environment, blob, size);
  if (operand.geometry == nullptr) return operand;
  geosOf(environment).forgetError();
  operand.geometry = repair(geosOf(environment), std::move(operand.geometry));
  if (operand.geometry == nullptr) operand.reason = reasonOf(environment, "the geometry cannot be repaired");
  return operand;
}

/** Returns the geometry without repair. Throws for unreadable geometries, if they must not be skipped. */
GeosGeometry requireGeos(Environment& environment, const uint8_t* blob, size_t size) {
  Operand operand = readOperand(environment, blob, size);
  if (!operand.reason.empty()) throw Failure{operand.reason, false};
  return std::move(operand.geometry);
}

/** A geometry as a GeoPackage blob: null for an empty one; the reason, as text, where GEOS failed. */
napi_value toBlob(napi_env env, const GEOSGeometry* geometry, int32_t srsId) {
  Environment& environment = environmentOf(env);
  environment.text.clear();
  if (!writeGeoPackageBlob(geosOf(environment), geometry, srsId, environment.text)) {
    const std::string& error = geosOf(environment).error();
    return toText(env, error.empty() ? "the geometry cannot be processed" : error);
  }
  if (environment.text.empty()) return null(env);
  return toBuffer(env, environment.text.data(), environment.text.size());
}

napi_value makeList(napi_env env, size_t length) {
  napi_value list;
  check(napi_create_array_with_length(env, length, &list));
  return list;
}

napi_value toBlobs(napi_env env, const std::vector<GeosGeometry>& geometries, int32_t srsId) {
  napi_value list = makeList(env, geometries.size());
  for (size_t i = 0; i < geometries.size(); ++i) {
    check(napi_set_element(env, list, static_cast<uint32_t>(i), toBlob(env, geometries[i].get(), srsId)));
  }
  return list;
}

napi_value toIndices(napi_env env, const std::vector<uint32_t>& indices) {
  uint32_t* out = nullptr;
  napi_value array = makeArray(env, napi_uint32_array, indices.size(), out);
  std::copy(indices.begin(), indices.end(), out);
  return array;
}

}  // namespace

/**
 * (blobs, operation: JSON, crs, target CRS, srsId) -> (Buffer | null | string)[]. Blobs that the operation `none`
 * does not need to change are the same objects.
 */
napi_value processGeometries(napi_env env, napi_callback_info info) {
  const Arguments<5> arguments(env, info);
  GeometryOperation operation;
  std::string error;
  if (!parseGeometryOperation(requireText(env, arguments[1], "operation"), operation, error)) throw Failure{error, true};
  const std::string crs = requireText(env, arguments[2], "crs");
  const std::string target = requireText(env, arguments[3], "target");
  const int32_t srsId = requireSrsId(env, arguments[4]);
  Environment& environment = environmentOf(env);
  const auto processor =
      GeometryProcessor::make(geosOf(environment), environment.reprojectors, operation, crs, target, error);
  if (processor == nullptr) throw Failure{error, false};
  napi_value result = makeList(env, lengthOf(env, arguments[0]));
  std::string reason;
  ByteBuffer& out = environment.text;
  eachBlob(env, arguments[0], [&](uint32_t i, const uint8_t* blob, size_t size) {
    napi_value value;
    switch (processor->processBlob(blob, size, srsId, environment.geometry, out, reason)) {
      case GeometryProcessor::Outcome::Same: check(napi_get_element(env, arguments[0], i, &value)); break;
      case GeometryProcessor::Outcome::Nothing: value = null(env); break;
      case GeometryProcessor::Outcome::Blob: value = toBuffer(env, out.data(), out.size()); break;
      case GeometryProcessor::Outcome::Failure: value = toText(env, reason); break;
    }
    check(napi_set_element(env, result, i, value));
  });
  return result;
}

/** (blobs, operation: JSON, srsId) -> Buffer[] */
napi_value processCollection(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  CollectionOperation operation;
  std::string error;
  if (!parseCollectionOperation(requireText(env, arguments[1], "operation"), operation, error)) throw Failure{error, true};
  const int32_t srsId = requireSrsId(env, arguments[2]);
  Environment& environment = environmentOf(env);
  Geos& geos = geosOf(environment);
  std::vector<GEOSGeometry*> geometries;
  eachBlob(env, arguments[0], [&](uint32_t, const uint8_t* blob, size_t size) {
    GeosGeometry geometry = requireGeos(environment, blob, size);
    if (geometry != nullptr) geometries.push_back(geometry.release());
  });
  std::vector<GeosGeometry> parts;
  if (!graticule::processCollection(geos, operation, geometries, parts)) throw Failure{geos.error(), false};
  return toBlobs(env, parts, srsId);
}

namespace {

struct OverlayState : Accounted {
  explicit OverlayState(std::shared_ptr<Geos> geos) : all(std::move(geos)) {}
  Overlay all;
};

Overlay& overlayOf(napi_env env, napi_value value) { return requireExternal<OverlayState>(env, value, "overlay").all; }

/** Returns a left geometry unchanged, or as written by GEOS if its encoding differs. */
napi_value leftBlob(napi_env env, napi_value element, int32_t srsId) {
  Environment& environment = environmentOf(env);
  const uint8_t* blob = nullptr;
  size_t size = 0;
  if (bytesOf(env, element, blob, size) && isPlainBlob(blob, size, srsId)) return element;
  const GeosGeometry whole = requireGeos(environment, blob, size);
  return toBlob(env, whole.get(), srsId);
}

napi_value pieceBlob(napi_env env, const Overlay::Piece& piece, napi_value left, int32_t srsId) {
  if (piece.isLeft) return leftBlob(env, left, srsId);
  if (piece.rings.empty()) return toBlob(env, piece.geometry.get(), srsId);
  ByteBuffer& out = environmentOf(env).text;
  out.clear();
  writeRings(piece.rings, srsId, out);
  return toBuffer(env, out.data(), out.size());
}

size_t sizeOf(napi_env env, napi_value piece) {
  const uint8_t* blob = nullptr;
  size_t size = 0;
  return bytesOf(env, piece, blob, size) ? size : 0;
}

}  // namespace

/**
 * (overlay, left, srsId, maxPairs, maxBytes) -> {pairs: Uint32Array of left, right, pieces: (Buffer | string)[],
 * looks: number}. After the left geometry that reaches a limit, no further geometry is processed.
 */
napi_value intersectGeometries(napi_env env, napi_callback_info info) {
  const Arguments<5> arguments(env, info);
  Overlay& overlay = overlayOf(env, arguments[0]);
  const napi_value lefts = arguments[1];
  const int32_t srsId = requireSrsId(env, arguments[2]);
  const double maxPairs = requireNumber(env, arguments[3], "maxPairs");
  const double maxBytes = requireNumber(env, arguments[4], "maxBytes");
  Environment& environment = environmentOf(env);
  double bytes = 0;
  uint32_t looks = 0;
  napi_value list = makeList(env, 0);
  std::vector<uint32_t> pairs;
  const auto add = [&](uint32_t left, uint32_t right, napi_value piece) {
    check(napi_set_element(env, list, static_cast<uint32_t>(pairs.size() / 2), piece));
    pairs.insert(pairs.end(), {left, right});
    bytes += static_cast<double>(sizeOf(env, piece));
  };
  std::vector<Overlay::Piece> pieces;
  const auto look = [&](uint32_t i, const uint8_t* blob, size_t size) {
    if (blob == nullptr) return;
    BlobHeader header;
    const ReadStatus status = readBlob(blob, size, header, environment.geometry);
    if (status != ReadStatus::Ok) return add(i, 0, toText(env, describe(status)));
    if (header.empty || environment.geometry.empty()) return;
    if (!overlay.intersect(environment.geometry, pieces)) {
      return add(i, 0, toText(env, reasonOf(environment, "the geometry cannot be read")));
    }
    napi_value element;
    check(napi_get_element(env, lefts, i, &element));
    for (const Overlay::Piece& piece : pieces) add(i, piece.right, pieceBlob(env, piece, element, srsId));
  };
  eachBlob(env, lefts, [&](uint32_t i, const uint8_t* blob, size_t size) {
    ++looks;
    look(i, blob, size);
    return static_cast<double>(pairs.size() / 2) < maxPairs && bytes < maxBytes;
  });
  napi_value result;
  check(napi_create_object(env, &result));
  setProperty(env, result, "pairs", toIndices(env, pairs));
  setProperty(env, result, "pieces", list);
  setProperty(env, result, "looks", toNumber(env, looks));
  return result;
}

/** () -> overlay */
napi_value createOverlay(napi_env env, napi_callback_info) {
  return toExternal(env, std::make_unique<OverlayState>(sharedGeosOf(environmentOf(env))));
}

/** (overlay, blobs) -> (string | null)[]: why a geometry, which counts as empty then, is not in the overlay */
napi_value addToOverlay(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  OverlayState& state = requireExternal<OverlayState>(env, arguments[0], "overlay");
  Overlay& overlay = state.all;
  Environment& environment = environmentOf(env);
  napi_value list = makeList(env, lengthOf(env, arguments[1]));
  eachBlob(env, arguments[1], [&](uint32_t i, const uint8_t* blob, size_t size) {
    BlobHeader header;
    Geometry& geometry = environment.geometry;
    geometry.clear();
    state.grow(env, size);
    const ReadStatus status = blob == nullptr ? ReadStatus::Ok : readBlob(blob, size, header, geometry);
    if (status != ReadStatus::Ok || header.empty) geometry.clear();
    const bool usable = overlay.add(geometry);
    napi_value reason = status != ReadStatus::Ok ? toText(env, describe(status))
                        : usable                 ? null(env)
                                                 : toText(env, reasonOf(environment, "the geometry cannot be read"));
    check(napi_set_element(env, list, i, reason));
  });
  return list;
}

/** (overlay, left, mode: `clip` or `subtract`, srsId) -> (Buffer | null | string)[] */
napi_value overlayGeometries(napi_env env, napi_callback_info info) {
  const Arguments<4> arguments(env, info);
  Overlay& overlay = overlayOf(env, arguments[0]);
  const std::string mode = requireText(env, arguments[2], "mode");
  const int32_t srsId = requireSrsId(env, arguments[3]);
  Environment& environment = environmentOf(env);
  napi_value list = makeList(env, lengthOf(env, arguments[1]));
  eachBlob(env, arguments[1], [&](uint32_t i, const uint8_t* blob, size_t size) {
    Operand operand = readRepaired(environment, blob, size);
    const GeosGeometry left = std::move(operand.geometry);
    const GeosGeometry rest = left == nullptr ? geosOf(environment).own(nullptr)
                              : mode == "clip" ? overlay.clip(left.get())
                                               : overlay.subtract(left.get());
    napi_value value = !operand.reason.empty() ? toText(env, operand.reason)
                       : left == nullptr       ? null(env)
                                               : toBlob(env, rest.get(), srsId);
    check(napi_set_element(env, list, i, value));
  });
  return list;
}

/** (overlay, left, tolerance, srsId) -> (Buffer | null | string)[] */
napi_value snapGeometries(napi_env env, napi_callback_info info) {
  const Arguments<4> arguments(env, info);
  const double tolerance = requireNumber(env, arguments[2], "tolerance");
  const int32_t srsId = requireSrsId(env, arguments[3]);
  Environment& environment = environmentOf(env);
  Geos& geos = geosOf(environment);
  Overlay& overlay = overlayOf(env, arguments[0]);
  napi_value list = makeList(env, lengthOf(env, arguments[1]));
  eachBlob(env, arguments[1], [&](uint32_t i, const uint8_t* blob, size_t size) {
    const Operand left = readOperand(environment, blob, size);
    const GeosGeometry result =
        left.geometry == nullptr ? geos.own(nullptr) : overlay.snap(left.geometry.get(), tolerance);
    napi_value value = !left.reason.empty()       ? toText(env, left.reason)
                       : left.geometry == nullptr ? null(env)
                                                  : toBlob(env, result.get(), srsId);
    check(napi_set_element(env, list, i, value));
  });
  return list;
}

/** (blobs, srsId) -> {owners: Uint32Array, parts: Buffer[]} */
napi_value geometryParts(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const int32_t srsId = requireSrsId(env, arguments[1]);
  Environment& environment = environmentOf(env);
  std::vector<uint32_t> owners;
  std::vector<GeosGeometry> parts;
  eachBlob(env, arguments[0], [&](uint32_t i, const uint8_t* blob, size_t size) {
    const GeosGeometry whole = requireGeos(environment, blob, size);
    if (whole != nullptr) appendParts(geosOf(environment), whole.get(), parts);
    owners.resize(parts.size(), i);
  });
  napi_value result;
  check(napi_create_object(env, &result));
  setProperty(env, result, "owners", toIndices(env, owners));
  setProperty(env, result, "parts", toBlobs(env, parts, srsId));
  return result;
}

namespace {

/** Union and the context of its geometries, which is the context of its thread. */
struct UnionState {
  explicit UnionState(std::shared_ptr<Geos> context) : geos(std::move(context)), all(*geos) {}
  std::shared_ptr<Geos> geos;
  GrowingUnion all;
};

UnionState& unionOf(napi_env env, napi_value value) { return requireExternal<UnionState>(env, value, "union"); }

}  // namespace

/** () -> union */
napi_value createUnion(napi_env env, napi_callback_info) {
  return toExternal(env, std::make_unique<UnionState>(sharedGeosOf(environmentOf(env))));
}

/** (union, blobs) */
napi_value addToUnion(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  UnionState& state = unionOf(env, arguments[0]);
  Environment& environment = environmentOf(env);
  eachBlob(env, arguments[1], [&](uint32_t, const uint8_t* blob, size_t size) {
    Operand operand = readRepaired(environment, blob, size);
    if (!operand.reason.empty()) throw Failure{operand.reason, false};
    GeosGeometry geometry = std::move(operand.geometry);
    if (!state.all.add(std::move(geometry))) throw Failure{state.geos->error(), false};
  });
  return nullptr;
}

/** (union, srsId) -> Buffer | null */
napi_value takeUnion(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  UnionState& state = unionOf(env, arguments[0]);
  const int32_t srsId = requireSrsId(env, arguments[1]);
  const GeosGeometry whole = state.all.take();
  ByteBuffer& out = environmentOf(env).text;
  out.clear();
  if (!writeGeoPackageBlob(*state.geos, whole.get(), srsId, out)) throw Failure{state.geos->error(), false};
  return out.empty() ? null(env) : toBuffer(env, out.data(), out.size());
}

}  // namespace graticule::addon
