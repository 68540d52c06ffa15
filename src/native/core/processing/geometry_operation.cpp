#include "geometry_operation.h"

#include <cmath>

#include "../analytics/ground_buffer.h"
#include "../formats/json.h"
#include "../geometry/plain_blob.h"
#include "../geometry/wkb.h"
#include "../geometry/wkb_writer.h"
#include "ground_densify.h"
#include "smooth.h"

namespace graticule {
namespace {

constexpr const char* kNames[] = {
    "boundary",   "bounding-circle", "buffer",           "centroid", "concave-hull", "convex-hull",       "densify",
    "envelope",   "line-merge",      "make-valid",       "none",     "normalize",    "offset-curve",      "oriented-box",
    "point-on-surface", "simplify",   "simplify-topology", "smooth",         "snap-to-grid",
};

bool readCount(JsonReader& reader, uint32_t& value) {
  double number = 0;
  if (!reader.readNumber(number) || number < 0 || number > 1000 || number != std::trunc(number)) return false;
  value = static_cast<uint32_t>(number);
  return true;
}

bool readMember(JsonReader& reader, const std::string& key, GeometryOperation& operation) {
  if (key == "name") return reader.readString(operation.name);
  if (key == "distance") return reader.readNumber(operation.distance);
  if (key == "ground") return reader.readBoolean(operation.ground);
  if (key == "ratio") return reader.readNumber(operation.ratio);
  if (key == "holes") return reader.readBoolean(operation.holes);
  if (key == "segments") return readCount(reader, operation.segments);
  if (key == "iterations") return readCount(reader, operation.iterations);
  if (key == "cap") return readCount(reader, operation.cap);
  if (key == "join") return readCount(reader, operation.join);
  if (key == "mitreLimit") return reader.readNumber(operation.mitreLimit);
  if (key == "singleSided") return reader.readBoolean(operation.singleSided);
  if (key == "keepCollapsed") return reader.readBoolean(operation.keepCollapsed);
  if (key == "strict") return reader.readBoolean(operation.strict);
  return false;
}

struct ParamsDeleter {
  GEOSContextHandle_t handle;
  void operator()(GEOSBufferParams* params) const { GEOSBufferParams_destroy_r(handle, params); }
};

GEOSGeometry* buffer(GEOSContextHandle_t handle, const GEOSGeometry* g, const GeometryOperation& o) {
  const std::unique_ptr<GEOSBufferParams, ParamsDeleter> params(GEOSBufferParams_create_r(handle), ParamsDeleter{handle});
  if (params == nullptr) return nullptr;
  GEOSBufferParams_setQuadrantSegments_r(handle, params.get(), static_cast<int>(o.segments));
  GEOSBufferParams_setEndCapStyle_r(handle, params.get(), static_cast<int>(o.cap));
  GEOSBufferParams_setJoinStyle_r(handle, params.get(), static_cast<int>(o.join));
  GEOSBufferParams_setMitreLimit_r(handle, params.get(), o.mitreLimit);
  GEOSBufferParams_setSingleSided_r(handle, params.get(), o.singleSided);
  return GEOSBufferWithParams_r(handle, g, params.get(), o.distance);
}

GEOSGeometry* makeValid(GEOSContextHandle_t handle, const GEOSGeometry* g, bool keepCollapsed) {
  GEOSMakeValidParams* params = GEOSMakeValidParams_create_r(handle);
  if (params == nullptr) return nullptr;
  GEOSMakeValidParams_setMethod_r(handle, params, GEOS_MAKE_VALID_STRUCTURE);
  GEOSMakeValidParams_setKeepCollapsed_r(handle, params, keepCollapsed);
  GEOSGeometry* valid = GEOSMakeValidWithParams_r(handle, g, params);
  GEOSMakeValidParams_destroy_r(handle, params);
  return valid;
}

/** Whether an operation misinterprets an invalid area without an error. */
bool needsValid(const std::string& name) {
  return name == "buffer" || name == "centroid" || name == "point-on-surface" || name == "snap-to-grid";
}

GEOSGeometry* normalForm(GEOSContextHandle_t handle, const GEOSGeometry* g) {
  GEOSGeometry* copy = GEOSGeom_clone_r(handle, g);
  if (copy == nullptr || GEOSNormalize_r(handle, copy) == 0) return copy;
  GEOSGeom_destroy_r(handle, copy);
  return nullptr;
}

GEOSGeometry* boundingCircle(GEOSContextHandle_t handle, const GEOSGeometry* g) {
  double radius = 0;
  GEOSGeometry* centre = nullptr;
  GEOSGeometry* circle = GEOSMinimumBoundingCircle_r(handle, g, &radius, &centre);
  GEOSGeom_destroy_r(handle, centre);
  return circle;
}

}  // namespace

bool parseGeometryOperation(std::string_view json, GeometryOperation& operation, std::string& error) {
  operation = {};
  JsonReader reader(json.data(), json.size());
  std::string current;
  const bool read = reader.readObject([&](const std::string& key) {
    current = key;
    return readMember(reader, key, operation);
  });
  if (!read || !reader.atEnd()) {
    error = "the operation has a wrong value at '" + current + "'";
    return false;
  }
  for (const char* name : kNames) {
    if (operation.name == name) return true;
  }
  error = "there is no operation '" + operation.name + "'";
  return false;
}

GeosGeometry repair(Geos& geos, GeosGeometry geometry) {
  if (geometry == nullptr || GEOSisValid_r(geos.handle(), geometry.get()) == 1) return geometry;
  return geos.own(makeValid(geos.handle(), geometry.get(), false));
}

bool writeGeoPackageBlob(Geos& geos, const GEOSGeometry* geometry, int32_t srsId, ByteBuffer& out) {
  constexpr uint8_t kLittleEndian = 1;
  constexpr uint8_t kEnvelopeXy = 1 << 1;
  if (geometry == nullptr || GEOSisEmpty_r(geos.handle(), geometry) != 0) return geometry != nullptr;
  const bool point = GEOSGeomTypeId_r(geos.handle(), geometry) == GEOS_POINT;
  Box box;
  const bool measured = GEOSGeom_getXMin_r(geos.handle(), geometry, &box.minX) == 1 &&
                        GEOSGeom_getYMin_r(geos.handle(), geometry, &box.minY) == 1 &&
                        GEOSGeom_getXMax_r(geos.handle(), geometry, &box.maxX) == 1 &&
                        GEOSGeom_getYMax_r(geos.handle(), geometry, &box.maxY) == 1;
  if (!measured) return false;
  const size_t start = out.size();
  out.appendLiteral("GP");
  out.push(0);
  out.push(static_cast<uint8_t>(kLittleEndian | (point ? 0 : kEnvelopeXy)));
  out.append(&srsId, 4);
  if (!point) {
    for (const double v : {box.minX, box.maxX, box.minY, box.maxY}) out.append(&v, 8);
  }
  if (geos.write(geometry, out)) return true;
  out.truncate(start);
  return false;
}

GeosGeometry GeometryProcessor::apply(const GEOSGeometry* g) {
  const GEOSContextHandle_t h = geos_.handle();
  const GeometryOperation& o = operation_;
  const std::string& name = o.name;
  if (name == "buffer") return geos_.own(buffer(h, g, o));
  if (name == "simplify") return geos_.own(GEOSSimplify_r(h, g, o.distance));
  if (name == "simplify-topology") return geos_.own(GEOSTopologyPreserveSimplify_r(h, g, o.distance));
  if (name == "densify") return geos_.own(GEOSDensify_r(h, g, o.distance));
  if (name == "smooth") return smooth(geos_, g, o.iterations);
  if (name == "convex-hull") return geos_.own(GEOSConvexHull_r(h, g));
  if (name == "concave-hull") return geos_.own(GEOSConcaveHull_r(h, g, o.ratio, o.holes));
  if (name == "centroid") return geos_.own(GEOSGetCentroid_r(h, g));
  if (name == "point-on-surface") return geos_.own(GEOSPointOnSurface_r(h, g));
  if (name == "make-valid") return geos_.own(makeValid(h, g, o.keepCollapsed));
  if (name == "boundary") return geos_.own(GEOSBoundary_r(h, g));
  if (name == "offset-curve") {
    return geos_.own(GEOSOffsetCurve_r(h, g, o.distance, static_cast<int>(o.segments), static_cast<int>(o.join), o.mitreLimit));
  }
  if (name == "envelope") return geos_.own(GEOSEnvelope_r(h, g));
  if (name == "oriented-box") return geos_.own(GEOSMinimumRotatedRectangle_r(h, g));
  if (name == "bounding-circle") return geos_.own(boundingCircle(h, g));
  if (name == "line-merge") return geos_.own(GEOSLineMerge_r(h, g));
  if (name == "normalize") return geos_.own(normalForm(h, g));
  if (name == "snap-to-grid") return geos_.own(GEOSGeom_setPrecision_r(h, g, o.distance, 0));
  return geos_.own(GEOSGeom_clone_r(h, g));
}

bool GeometryProcessor::tooLarge(const GEOSGeometry* g) const {
  constexpr double kMostVertices = 1e7;
  double vertices = GEOSGetNumCoordinates_r(geos_.handle(), g);
  double length = 0;
  if (operation_.name == "smooth") vertices *= std::pow(2.0, operation_.iterations);
  if (operation_.name == "densify" && GEOSLength_r(geos_.handle(), g, &length) == 1) vertices += length / operation_.distance;
  return !(vertices <= kMostVertices);
}

bool GeometryProcessor::process(const Geometry& geometry, int32_t srsId, ByteBuffer& out, std::string& reason) {
  if (geometry.empty()) return true;
  geos_.forgetError();
  Invalidity why;
  if (operation_.strict && !validate(geos_, geometry, why)) {
    reason = why.reason;
    return false;
  }
  GeosGeometry result = geos_.own(nullptr);
  if (operation_.ground && operation_.name == "densify") {
    result = densifyOnGround(geometry);
  } else if (operation_.ground) {
    result = bufferOnGround(geometry);
  } else {
    GeosGeometry whole = geos_.read(geometry);
    if (!operation_.strict && needsValid(operation_.name)) whole = repair(geos_, std::move(whole));
    if (whole != nullptr && tooLarge(whole.get())) {
      reason = "the result would have more than 10 million vertices";
      return false;
    }
    if (whole != nullptr) result = apply(whole.get());
    if (result == nullptr && !operation_.strict) {
      whole = repair(geos_, std::move(whole));
      if (whole != nullptr) result = apply(whole.get());
    }
  }
  if (result != nullptr && !target_->identity() && GEOSisEmpty_r(geos_.handle(), result.get()) == 0) {
    result = project(result.get(), *target_);
    if (result == nullptr) reason = "a position has no image in the target CRS";
    if (result == nullptr) return false;
  }
  if (result != nullptr && writeGeoPackageBlob(geos_, result.get(), srsId, out)) return true;
  reason = geos_.error().empty() ? "the geometry cannot be processed" : geos_.error();
  return false;
}

std::unique_ptr<GeometryProcessor> GeometryProcessor::make(Geos& geos, ReprojectorCache& reprojectors,
                                                           GeometryOperation operation, const std::string& crs,
                                                           const std::string& target, std::string& error) {
  std::unique_ptr<GeometryProcessor> processor(new GeometryProcessor(geos, reprojectors, std::move(operation)));
  processor->target_ = reprojectors.find(crs, target, error);
  if (processor->target_ == nullptr) return nullptr;
  if (!processor->operation_.ground) return processor;
  processor->toLonLat_ = reprojectors.find(crs, "OGC:CRS84", error);
  processor->fromLonLat_ = reprojectors.find("OGC:CRS84", crs, error);
  if (processor->toLonLat_ == nullptr || processor->fromLonLat_ == nullptr) return nullptr;
  return processor;
}

GeometryProcessor::Outcome GeometryProcessor::processBlob(const uint8_t* blob, size_t size, int32_t srsId, Geometry& scratch,
                                                          ByteBuffer& out, std::string& reason) {
  if (blob == nullptr) return Outcome::Nothing;
  const bool keeps = operation_.name == "none" && !operation_.strict && target_->identity();
  if (keeps && isPlainBlob(blob, size, srsId)) return Outcome::Same;
  BlobHeader header;
  const ReadStatus status = readBlob(blob, size, header, scratch);
  if (status != ReadStatus::Ok) {
    reason = describe(status);
    return Outcome::Failure;
  }
  if (header.empty) return Outcome::Nothing;
  out.clear();
  if (!process(scratch, srsId, out, reason)) return Outcome::Failure;
  return out.empty() ? Outcome::Nothing : Outcome::Blob;
}

GeosGeometry GeometryProcessor::bufferOnGround(const Geometry& geometry) {
  GroundBuffers buffers(geos_, reprojectors_, operation_.distance);
  if (!projected_.project(geometry, *toLonLat_)) return geos_.own(nullptr);
  buffers.add(projected_.geometry());
  GeosGeometry lonLat = buffers.unite();
  // A buffer of more than no metres is never empty.
  if (lonLat == nullptr && operation_.distance == 0) return geos_.own(GEOSGeom_createEmptyPolygon_r(geos_.handle()));
  if (lonLat == nullptr) return lonLat;
  return fromLonLat_->identity() ? std::move(lonLat) : project(lonLat.get(), *fromLonLat_);
}

GeosGeometry GeometryProcessor::densifyOnGround(const Geometry& geometry) {
  GroundDensifier densifier;
  if (!projected_.project(geometry, *toLonLat_)) return geos_.own(nullptr);
  if (!densifier.densify(projected_.geometry(), operation_.distance)) return geos_.own(nullptr);
  if (fromLonLat_->identity()) return geos_.read(densifier.geometry());
  ProjectedGeometry back;
  return back.project(densifier.geometry(), *fromLonLat_) ? geos_.read(back.geometry()) : geos_.own(nullptr);
}

GeosGeometry GeometryProcessor::project(const GEOSGeometry* geometry, const Reprojector& reprojector) {
  wkb_.clear();
  if (!geos_.write(geometry, wkb_) || readWkb(wkb_.data(), wkb_.size(), piece_) != ReadStatus::Ok) {
    return geos_.own(nullptr);
  }
  return projected_.project(piece_, reprojector) ? geos_.read(projected_.geometry()) : geos_.own(nullptr);
}

}  // namespace graticule
