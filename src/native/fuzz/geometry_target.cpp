#include "geometry_target.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "../core/analytics/centroid.h"
#include "../core/analytics/dbscan.h"
#include "../core/analytics/ground_buffer.h"
#include "../core/analytics/kmeans.h"
#include "../core/formats/csv.h"
#include "../core/formats/esri_json.h"
#include "../core/formats/esri_pbf.h"
#include "../core/formats/json.h"
#include "../core/clipping/generalise.h"
#include "../core/formats/geojson_reader.h"
#include "../core/formats/gml.h"
#include "../core/clipping/spatial_predicate.h"
#include "../core/values/varint.h"
#include "../core/geometry/wkb_writer.h"

namespace graticule {
namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

constexpr double kRadiansPerDegree = 0.017453292519943295769;

void fuzzReader(uint8_t mode, const uint8_t* data, size_t size) {
  static ReprojectorCache reprojectors;
  static GeoJsonReader reader;
  GeoJsonReadOptions options;
  options.to = (mode & 1) != 0 ? "EPSG:3857" : "OGC:CRS84";
  options.swap = (mode & 2) != 0;
  options.dimension = (mode & 4) != 0 ? 2 + (mode >> 3) % 2 : 0;
  options.maxVertices = 100;
  std::string error;
  Geometry geometry;
  const auto reprojector = reprojectors.find(options.from, options.to, error);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!reader.read(text, options, *reprojector, geometry, error)) return require(!error.empty());
  ByteBuffer blob;
  writeGeoPackageBlob(geometry, 4326, blob);
  BlobHeader header;
  Geometry again;
  require(readBlob(blob.data(), blob.size(), header, again) == ReadStatus::Ok);
  require(header.empty == geometry.empty() && again.sequences.size() <= geometry.sequences.size());
}

template <typename Writer>
void write(Writer& writer, uint8_t mode, const uint8_t* data, size_t size) {
  FeatureOptions options;
  options.fields = {{"a", FieldType::String}, {"b", FieldType::Binary}};
  options.type = "t";
  options.format = {mode % 16, (mode & 2) != 0};
  options.z = (mode & 4) != 0;
  options.centroid = (mode & 8) != 0;
  options.tolerance = (mode & 128) != 0 ? std::ldexp(1.0, mode % 32 - 16) : 0;
  options.quantisation = {(mode & 16) != 0, 10, -10, std::ldexp(1.0, mode % 64 - 32), 1e-4, (mode & 32) != 0,
                          (mode & 64) != 0};
  writer.begin(options, nullptr);
  const Value text = Value::ofText(reinterpret_cast<const char*>(data), size);
  writer.beginFeature(text, data, size);
  writer.property(0, text);
  writer.property(1, Value::ofBlob(data, size));
  writer.endFeature();
}

/** Members with a length, one after the other, that end where the bytes do. */
bool isMessage(const uint8_t* p, const uint8_t* end, void (*member)(uint8_t key, const uint8_t* p, const uint8_t* end)) {
  while (p != nullptr && p < end) {
    const uint8_t key = *p;
    uint64_t size = 0;
    p = getVarint(p + 1, end, size);
    if (p == nullptr || size > static_cast<uint64_t>(end - p)) return false;
    if (member != nullptr) member(key, p, p + size);
    p += size;
  }
  return p == end;
}

void checkFeature(uint8_t key, const uint8_t* p, const uint8_t* end) {
  require(key == lengthDelimited(15));
  require(isMessage(p, end, [](uint8_t member, const uint8_t* begin, const uint8_t* stop) {
    if (member != lengthDelimited(1)) require(isMessage(begin, stop, nullptr));
  }));
}

void fuzzWriters(uint8_t mode, const uint8_t* data, size_t size) {
  static CsvFeatureWriter csv;
  static GmlFeatureWriter gml;
  write(csv, mode, data, size);
  const uint8_t* text = csv.text().data();
  require(std::count(text, text + csv.text().size(), '"') % 2 == 0);
  static EsriJsonFeatureWriter esri;
  write(esri, mode, data, size);
  require(isJson(reinterpret_cast<const char*>(esri.text().data()), esri.text().size()));
  static EsriPbfFeatureWriter pbf;
  write(pbf, mode, data, size);
  require(isMessage(pbf.text().data(), pbf.text().data() + pbf.text().size(), checkFeature));
  write(gml, mode, data, size);
  const uint8_t* xml = gml.text().data();
  require(std::count(xml, xml + gml.text().size(), '<') == std::count(xml, xml + gml.text().size(), '>'));
  for (size_t i = 0; i < gml.text().size(); ++i) require(xml[i] >= 0x20 || xml[i] == '\n' || xml[i] == '\t');
}

/** A square with a hole, 10 degrees wide. */
SpatialOperand& square(const std::shared_ptr<Geos>& geos) {
  static std::unique_ptr<SpatialOperand> operand;
  if (operand != nullptr) return *operand;
  GeoJsonReader reader;
  ReprojectorCache reprojectors;
  Geometry geometry;
  std::string error;
  reader.read(R"({"type":"Polygon","coordinates":[[[0,0],[10,0],[10,10],[0,10],[0,0]],[[4,4],[4,6],[6,6],[4,4]]]})", {},
              *reprojectors.find("OGC:CRS84", "OGC:CRS84", error), geometry, error);
  ByteBuffer wkb;
  writeWkb(geometry, wkb);
  operand = std::make_unique<SpatialOperand>(geos);
  operand->readCopy(wkb.data(), wkb.size());
  operand->lasting = true;
  return *operand;
}

void fuzzGeneraliser(uint8_t mode, const uint8_t* data, size_t size) {
  static Generaliser generaliser;
  BlobHeader header;
  Geometry geometry;
  if (readBlob(data, size, header, geometry) != ReadStatus::Ok) return;
  require(measureOf(geometry) >= 0);
  const double resolution = std::ldexp(1.0, mode % 64 - 32);
  ByteBuffer blob;
  const Geometry& coarse = generaliser.generalise(geometry, resolution);
  if (coarse.nodes.empty()) return;
  for (const Sequence& s : coarse.sequences) require(s.count > 0);
  writeGeoPackageBlob(coarse, 4326, blob);
  Geometry again;
  require(readBlob(blob.data(), blob.size(), header, again) == ReadStatus::Ok);
  require(again.sequences.size() <= geometry.sequences.size());
}

void fuzzPredicates(const uint8_t* data, size_t size) {
  static const auto geos = std::make_shared<Geos>();
  SpatialOperand other(geos);
  if (other.read(data, size) != ReadStatus::Ok) return;
  SpatialOperand& fixed = square(geos);
  for (int p = 0; p <= static_cast<int>(Predicate::Contains); ++p) {
    evaluate(static_cast<Predicate>(p), fixed, other);
    evaluate(static_cast<Predicate>(p), other, fixed);
  }
  planarDistance(fixed, other);
  const auto metres = geodesicDistance(fixed.sphere(kRadiansPerDegree), other.sphere(kRadiansPerDegree), {});
  require(!metres || *metres >= 0);
  Geometry geometry;
  BlobHeader header;
  readBlob(data, size, header, geometry);
  Invalidity why;
  require(validate(*geos, geometry, why) || !why.reason.empty());
  double x = 0;
  double y = 0;
  for (const bool degrees : {false, true}) {
    require(!centroidOf(geometry, x, y, degrees) || (std::isfinite(x) && std::isfinite(y)));
  }
  const Box box = envelopeOf(geometry);
  if (!box.valid() || box.minX < -180 || box.maxX > 180 || box.minY < -90 || box.maxY > 90) return;
  static ReprojectorCache reprojectors;
  GroundBuffers buffers(*geos, reprojectors, 1000);
  buffers.add(geometry);
  buffers.unite();
}

void fuzzClusters(uint8_t mode, const uint8_t* data, size_t size) {
  std::vector<double> points;
  for (size_t i = 0; i + 8 <= size && points.size() < 60; i += 8) {
    const auto v = loadNative<double>(data + i);
    // Limits values to the range of coordinates in metres.
    if (std::fabs(v) < 1e9) points.push_back(v);
  }
  const int dimensions = (mode & 1) != 0 ? 2 : 3;
  const size_t n = points.size() / static_cast<size_t>(dimensions);
  std::vector<int32_t> labels(n, -2);
  dbscan(points.data(), n, dimensions, std::ldexp(1.0, mode % 64 - 32), 1 + mode % 5, labels.data());
  for (const int32_t label : labels) require(label >= kNoise && label < static_cast<int32_t>(n));
  const auto clusters = createKMeans(points.data(), n, dimensions, 1 + mode % 7);
  while (!clusters->iterate()) {
  }
  clusters->number(labels.data());
  for (const int32_t label : labels) require(label >= 0 && label <= mode % 7);
}

}  // namespace

void fuzzGeometry(uint8_t mode, const uint8_t* data, size_t size) {
  fuzzReader(mode, data, size);
  fuzzWriters(mode, data, size);
  fuzzGeneraliser(mode, data, size);
  fuzzPredicates(data, size);
  fuzzClusters(mode, data, size);
}

}  // namespace graticule
