// Functions without state: geometry to GeoJSON, coordinates between CRS, CRS descriptions, gzip and gunzip.
#include <cmath>

#include "../../core/geometry/crs.h"
#include "../../core/formats/options.h"
#include "../../core/geometry/wkb.h"
#include "../napi.h"

namespace graticule::addon {
namespace {

std::shared_ptr<const Reprojector> requireReprojector(napi_env env, napi_value from, napi_value to) {
  std::string error;
  auto found = environmentOf(env).reprojectors.find(requireText(env, from, "from"), requireText(env, to, "to"), error);
  if (found == nullptr) throw Failure{error, false};
  return found;
}

/** Writes the contents of gzip bytes to the environment's text. */
void inflate(napi_env env, const Arguments<2>& arguments, Environment& environment) {
  const uint8_t* data = nullptr;
  size_t size = 0;
  if (!bytesOf(env, arguments[0], data, size)) throw Failure{"the data must be a Uint8Array", true};
  const double maxBytes = requireNumber(env, arguments[1], "maxBytes");
  if (!(maxBytes >= 0 && maxBytes < ByteBuffer::kMaxSize)) throw Failure{"maxBytes is out of range", true};
  environment.text.clear();
  switch (environment.decompressor.gunzip(data, size, static_cast<size_t>(maxBytes), environment.text)) {
    case Inflation::done: return;
    case Inflation::damaged: throw Failure{"damaged gzip data", false};
    case Inflation::tooLarge: throw Failure{"too much gzip data", false, {}, kTooLarge};
  }
}

}  // namespace

/** (blob: Uint8Array, options: JSON) -> GeoJSON geometry text, "null" for an empty one. */
napi_value geometryToGeoJson(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  Environment& environment = environmentOf(env);
  const uint8_t* blob = nullptr;
  size_t size = 0;
  if (!bytesOf(env, arguments[0], blob, size)) throw Failure{"the geometry must be a Uint8Array", true};
  FeatureOptions options;
  std::string error;
  if (!parseFeatureOptions(requireText(env, arguments[1], "options"), options, error)) throw Failure{error, true};
  const auto reprojector = environment.reprojectors.find(options.from, options.to, error);
  if (reprojector == nullptr) throw Failure{error, false};
  BlobHeader header;
  const ReadStatus status = readBlob(blob, size, header, environment.geometry);
  if (status != ReadStatus::Ok) throw Failure{describe(status), false};
  environment.geometryWriter.begin(options.format, reprojector.get());
  environment.text.clear();
  environment.geometryWriter.write(environment.geometry, environment.text);
  environment.geometryWriter.begin({}, nullptr);
  return toText(env, reinterpret_cast<const char*>(environment.text.data()), environment.text.size());
}

/** (minx, miny, maxx, maxy, from, to) -> [minx, miny, maxx, maxy] */
napi_value transformBox(napi_env env, napi_callback_info info) {
  const Arguments<6> arguments(env, info);
  Box from;
  from.minX = requireNumber(env, arguments[0], "minx");
  from.minY = requireNumber(env, arguments[1], "miny");
  from.maxX = requireNumber(env, arguments[2], "maxx");
  from.maxY = requireNumber(env, arguments[3], "maxy");
  Box to;
  if (!requireReprojector(env, arguments[4], arguments[5])->transformBox(from, to)) {
    throw Failure{"the box has no image in the target CRS", false};
  }
  return toBox(env, to);
}

/** (points: Float64Array of x,y pairs, from, to): in place. */
napi_value transformPoints(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  bool typed = false;
  check(napi_is_typedarray(env, arguments[0], &typed));
  napi_typedarray_type type = napi_uint8_array;
  size_t length = 0;
  void* data = nullptr;
  if (typed) check(napi_get_typedarray_info(env, arguments[0], &type, &length, &data, nullptr, nullptr));
  if (type != napi_float64_array || length % 2 != 0) {
    throw Failure{"points must be a Float64Array of x,y pairs", true};
  }
  requireReprojector(env, arguments[1], arguments[2])->transform(static_cast<double*>(data), length / 2);
  return nullptr;
}

/** (crs, identifies) */
napi_value describeCrs(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const bool identifies = requireBoolean(env, arguments[1], "identifies");
  CrsDescription crs;
  std::string error;
  const std::string text = requireText(env, arguments[0], "crs");
  if (!graticule::describeCrs(environmentOf(env).reprojectors.context(), text, crs, error, identifies)) throw Failure{error, false};
  napi_value result;
  check(napi_create_object(env, &result));
  setProperty(env, result, "name", toText(env, crs.name));
  if (!crs.authority.empty()) {
    setProperty(env, result, "authority", toText(env, crs.authority));
    setProperty(env, result, "code", toText(env, crs.code));
  }
  setProperty(env, result, "isGeographic", toBoolean(env, crs.geographic));
  setProperty(env, result, "axisSwapped", toBoolean(env, crs.axisSwapped));
  setProperty(env, result, "unit", toText(env, crs.unit));
  setProperty(env, result, "metresPerUnit", toNumber(env, crs.metresPerUnit));
  setProperty(env, result, "wkt", toText(env, crs.wkt));
  if (!crs.projjson.empty()) setProperty(env, result, "projjson", toText(env, crs.projjson));
  if (!crs.wkt1.empty()) setProperty(env, result, "wkt1", toText(env, crs.wkt1));
  if (crs.areaOfUse.minY <= crs.areaOfUse.maxY) {
    setProperty(env, result, "areaOfUse", toBox(env, crs.areaOfUse));
    setProperty(env, result, "areaName", toText(env, crs.areaName));
  }
  return result;
}

/** () -> horizontal CRSs of EPSG */
napi_value listCrs(napi_env env, napi_callback_info) {
  const std::vector<CrsEntry> entries = graticule::listCrs(environmentOf(env).reprojectors.context());
  napi_value result;
  check(napi_create_array_with_length(env, entries.size(), &result));
  uint32_t index = 0;
  for (const CrsEntry& entry : entries) {
    napi_value one;
    check(napi_create_object(env, &one));
    setProperty(env, one, "code", toText(env, entry.code));
    setProperty(env, one, "name", toText(env, entry.name));
    setProperty(env, one, "areaName", toText(env, entry.areaName));
    setProperty(env, one, "isGeographic", toBoolean(env, entry.geographic));
    if (entry.hasArea) setProperty(env, one, "areaOfUse", toBox(env, entry.area));
    check(napi_set_element(env, result, index++, one));
  }
  return result;
}

/** (definition of a CRS) -> boolean */
napi_value namesFile(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  return toBoolean(env, graticule::namesFile(requireText(env, arguments[0], "crs")));
}

/** (bytes: Uint8Array, level: 0 to 12) -> gzip member (RFC 1952). */
napi_value gzip(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const uint8_t* data = nullptr;
  size_t size = 0;
  if (!bytesOf(env, arguments[0], data, size)) throw Failure{"the data must be a Uint8Array", true};
  const double level = requireNumber(env, arguments[1], "level");
  if (!(level >= 0 && level <= 12) || level != std::trunc(level)) throw Failure{"level must be 0 to 12", true};
  Environment& environment = environmentOf(env);
  environment.text.clear();
  environment.compressors.gzip(data, size, static_cast<int>(level), environment.text);
  napi_value result = toBuffer(env, environment.text.data(), environment.text.size());
  environment.text.shrink(4u << 20);
  return result;
}

/** (bytes: gzip, maxBytes) -> their contents. Fails for damaged bytes, and for more than maxBytes. */
napi_value gunzip(napi_env env, napi_callback_info info) {
  Environment& environment = environmentOf(env);
  inflate(env, Arguments<2>(env, info), environment);
  napi_value result = toBuffer(env, environment.text.data(), environment.text.size());
  environment.text.shrink(4u << 20);
  return result;
}

/** Same as gunzip, but returns only the number of bytes. */
napi_value gunzippedSize(napi_env env, napi_callback_info info) {
  Environment& environment = environmentOf(env);
  inflate(env, Arguments<2>(env, info), environment);
  const size_t size = environment.text.size();
  environment.text.shrink(4u << 20);
  return toNumber(env, static_cast<double>(size));
}

/** (Uint8Array that is all of its ArrayBuffer) -> undefined. Frees the memory; the array is empty afterwards. */
napi_value releaseBytes(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  const uint8_t* data = nullptr;
  size_t size = 0;
  if (!bytesOf(env, arguments[0], data, size)) throw Failure{"the bytes must be a Uint8Array", true};
  napi_value buffer;
  check(napi_get_typedarray_info(env, arguments[0], nullptr, nullptr, nullptr, &buffer, nullptr));
  check(napi_detach_arraybuffer(env, buffer));
  return nullptr;
}

}  // namespace graticule::addon
