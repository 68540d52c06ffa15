// Fuzz target: untrusted bytes through every reader and encoder of the core. docs/contributing/fuzzing.md describes
// how to run it.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "../core/formats/geojson.h"
#include "../core/clipping/intersects_box.h"
#include "../core/formats/json.h"
#include "../core/mlt/decoder.h"
#include "../core/mlt/encoder.h"
#include "../core/formats/options.h"
#include "../core/values/pg_values.h"
#include "../core/tiles/tile_layer.h"
#include "../core/geometry/wkb.h"
#include "../core/deflate/zstd.h"
#include "geometry_target.h"
#include "tile_check.h"

using namespace graticule;

namespace {

/** Condition that every input must satisfy. abort() is visible to a fuzzer. */
void require(bool condition) {
  if (!condition) std::abort();
}

TileLayerOptions tileOptions(uint8_t mode) {
  TileLayerOptions options;
  options.name = "fuzz";
  options.columns = {{"text", FieldType::String}, {"flag", FieldType::Boolean}};
  options.from = (mode & 1) != 0 ? "EPSG:4326" : "EPSG:3857";
  options.to = "EPSG:3857";
  options.bbox = (mode & 2) != 0 ? Box{0, 0, 10, 10} : Box{-20037508, -20037508, 20037508, 20037508};
  options.extent = (mode & 4) != 0 ? 16 : 4096;
  options.buffer = (mode & 8) != 0 ? 0 : 64;
  options.simplify = (mode & 16) != 0 ? 1.5 : 0;
  return options;
}

/** The tile with up to 8 bytes replaced: each pair of input bytes is a position and a value. */
std::vector<uint8_t> corruptTile(const uint8_t* tile, size_t tileSize, const uint8_t* data, size_t size) {
  std::vector<uint8_t> corrupted(tile, tile + tileSize);
  for (size_t i = 0; i + 1 < size && i < 16 && tileSize != 0; i += 2) corrupted[data[i] % tileSize] = data[i + 1];
  return corrupted;
}

/** Runs a conversion that may refuse its tile. */
template <typename Convert>
void attempt(Convert&& convert) {
  try {
    convert();
  } catch (const mlt::Broken&) {
  } catch (const mlt::TooLarge&) {
  }
}

/**
 * A conversion of a valid tile to MLT and back to MVT keeps the number of features. The conversion of a corrupted tile
 * can fail, but must not crash.
 */
void fuzzMlt(const uint8_t* tile, size_t tileSize, uint32_t features, const uint8_t* data, size_t size) {
  static mlt::Encoder encoder;
  ByteBuffer mltTile;
  ByteBuffer mvtTile;
  encoder.encode(tile, tileSize, mltTile);
  mlt::Decoder().decode(mltTile.data(), mltTile.size(), mvtTile);
  require(countTileFeatures(mvtTile.data(), mvtTile.size()) == features);
  ByteBuffer out;
  const std::vector<uint8_t> broken = corruptTile(tile, tileSize, data, size);
  attempt([&] { encoder.encode(broken.data(), broken.size(), out); });
  const std::vector<uint8_t> brokenMlt = corruptTile(mltTile.data(), mltTile.size(), data, size);
  attempt([&] { mlt::Decoder().decode(brokenMlt.data(), brokenMlt.size(), out); });
  attempt([&] { encoder.encode(data, size, out); });
  attempt([&] { mlt::Decoder().decode(data, size, out); });
}

void fuzzTile(uint8_t mode, const uint8_t* blob, size_t size) {
  static ReprojectorCache reprojectors;
  static TileLayerEncoder encoder;
  std::string error;
  const TileLayerOptions options = tileOptions(mode);
  encoder.begin(options, reprojectors.find(options.from, options.to, error));
  for (uint64_t id = 0; id < 2; ++id) {
    if (!encoder.addGeometry(blob, size)) continue;
    encoder.tag(0, Value::ofText(reinterpret_cast<const char*>(blob), size));
    encoder.tag(1, Value::ofInteger(static_cast<int64_t>(size)));
    encoder.endFeature(&id);
  }
  const uint32_t features = encoder.features();
  size_t tileSize = 0;
  const uint8_t* tile = encoder.finish(tileSize);
  require((tileSize == 0) == (features == 0));
  require(countTileFeatures(tile, tileSize) == features);
  const int64_t low = -static_cast<int64_t>(options.buffer);
  require(features == 0 || tileIsValid(tile, tileSize, low, options.extent - low));
  fuzzMlt(tile, tileSize, features, blob, size);
  encoder.release();
}

void fuzzGeoJson(uint8_t mode, const uint8_t* blob, size_t size) {
  static ReprojectorCache reprojectors;
  static GeoJsonFeatureWriter writer;
  FeatureOptions options;
  options.fields = {{"text", FieldType::String}, {"json", FieldType::Json}, {"bytes", FieldType::Binary}};
  options.from = "EPSG:3857";
  options.to = (mode & 1) != 0 ? "OGC:CRS84" : "EPSG:3857";
  options.format = {mode % 16, (mode & 2) != 0};
  std::string error;
  writer.begin(options, reprojectors.find(options.from, options.to, error));
  const auto* text = reinterpret_cast<const char*>(blob);
  writer.beginFeature(Value::ofText(text, size), blob, size);
  writer.property(0, Value::ofText(text, size));
  writer.property(1, Value::ofText(text, size));
  writer.property(2, Value::ofBlob(blob, size));
  writer.endFeature();
  require(isJson(reinterpret_cast<const char*>(writer.text().data()), writer.text().size()));
  writer.release();
}

/** A value as a database would send it, with any declared type. */
void fuzzPgValue(uint8_t mode, const uint8_t* bytes, size_t size) {
  static GeoJsonFeatureWriter writer;
  static ByteBuffer scratch;
  const auto kind = static_cast<PgKind>(mode % (static_cast<int>(PgKind::Bytes) + 1));
  const Value value = readPgValue(kind, reinterpret_cast<const char*>(bytes), size, scratch);
  FeatureOptions options;
  options.fields = {{"any", FieldType::Any}, {"number", FieldType::Number}, {"json", FieldType::Json}};
  writer.begin(options, nullptr);
  writer.beginFeature(value, nullptr, 0);
  for (size_t field = 0; field < options.fields.size(); ++field) writer.property(field, value);
  writer.endFeature();
  require(isJson(reinterpret_cast<const char*>(writer.text().data()), writer.text().size()));
}

void fuzzParsers(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string error;
  TileLayerOptions tile;
  require(parseTileOptions(text, tile, error) || !error.empty());
  FeatureOptions geoJson;
  error.clear();
  require(parseFeatureOptions(text, geoJson, error) || !error.empty());
  // Must not crash.
  countTileFeatures(data, size);
  Geometry geometry;
  Box box;
  const ReadStatus status = readEnvelope(data, size, geometry, box);
  bool hit = false;
  intersectsBox(data, size, {0, 0, 50, 50}, geometry, hit);
  require(!hit || status == ReadStatus::Ok);
}

/**
 * Decompresses the input, compresses it in two parts and compares the result, decompresses it with a limit that is too
 * small, and decompresses it with one changed byte.
 */
void fuzzZstd(uint8_t mode, const uint8_t* data, size_t size) {
  constexpr size_t kMaxBytes = 1 << 16;
  static ZstdEncoder encoder(1, 10);
  ByteBuffer out;
  require(unzstd(data, size, kMaxBytes, out) != Inflation::done || out.size() <= kMaxBytes);
  ByteBuffer frame;
  encoder.write(data, size / 2, ZSTD_e_flush, frame);
  encoder.write(data + size / 2, size - size / 2, ZSTD_e_end, frame);
  out.clear();
  require(unzstd(frame.data(), frame.size(), size, out) == Inflation::done);
  require(out.size() == size && (size == 0 || std::memcmp(out.data(), data, size) == 0));
  out.clear();
  require(size == 0 || unzstd(frame.data(), frame.size(), size - 1, out) == Inflation::tooLarge);
  frame.data()[mode % frame.size()] ^= static_cast<uint8_t>(mode | 1);
  out.clear();
  require(unzstd(frame.data(), frame.size(), kMaxBytes, out) != Inflation::done || out.size() <= kMaxBytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  // Each target derives its options from the bits of `mode`.
  const uint8_t mode = data[0];
  fuzzTile(mode, data + 1, size - 1);
  fuzzGeoJson(mode, data + 1, size - 1);
  fuzzPgValue(mode, data + 1, size - 1);
  fuzzParsers(data + 1, size - 1);
  fuzzGeometry(mode, data + 1, size - 1);
  fuzzZstd(mode, data + 1, size - 1);
  return 0;
}
