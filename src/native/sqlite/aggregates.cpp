// gr_mvt and gr_geojson: a whole tile layer or page of features as one value.
#include "../core/options.h"
#include "connection.h"

namespace graticule::sqlite {
namespace {

/** Arguments before the attribute values: options, id, geometry. */
constexpr int kFirstValue = 3;

/** What SQLite keeps per group: zeroed memory, so a null encoder means the first row. */
template <typename Encoder>
struct Group {
  Encoder* encoder;
  bool failed;
};

using Encoders = std::vector<std::unique_ptr<TileLayerEncoder>>;
using Writers = std::vector<std::unique_ptr<GeoJsonFeatureWriter>>;

template <typename Encoder>
std::unique_ptr<Encoder> takeIdle(std::vector<std::unique_ptr<Encoder>>& idle) {
  if (idle.empty()) return std::make_unique<Encoder>();
  auto encoder = std::move(idle.back());
  idle.pop_back();
  return encoder;
}

/** Idle encoders kept per connection: one statement rarely has more groups open. */
constexpr size_t kMaxIdle = 4;

template <typename Encoder>
void giveBack(std::vector<std::unique_ptr<Encoder>>& idle, Encoder* encoder) {
  std::unique_ptr<Encoder> owned(encoder);
  owned->release();
  if (idle.size() < kMaxIdle) idle.push_back(std::move(owned));
}

bool checkArguments(sqlite3_context* context, const char* function, int argc, size_t fields) {
  if (static_cast<size_t>(argc) == fields + kFirstValue) return true;
  fail(context, function,
       "the options name " + std::to_string(fields) + " fields, the call has " +
           std::to_string(argc < kFirstValue ? 0 : argc - kFirstValue) + " values");
  return false;
}

TileLayerEncoder* openTile(sqlite3_context* context, int argc, sqlite3_value** argv) {
  constexpr const char* kFunction = "gr_mvt";
  if (argc < kFirstValue) return fail(context, kFunction, "needs options, id and geometry"), nullptr;
  TileLayerOptions options;
  std::string error;
  if (!parseTileOptions(textOf(argv[0]), options, error)) return fail(context, kFunction, error), nullptr;
  if (!checkArguments(context, kFunction, argc, options.columns.size())) return nullptr;
  Connection& connection = connectionOf(context);
  auto reprojector = connection.reprojectors.find(options.from, options.to, error);
  if (reprojector == nullptr) return fail(context, kFunction, error), nullptr;
  auto encoder = takeIdle(connection.idleTileEncoders);
  encoder->begin(options, std::move(reprojector));
  return encoder.release();
}

GeoJsonFeatureWriter* openFeatures(sqlite3_context* context, int argc, sqlite3_value** argv) {
  constexpr const char* kFunction = "gr_geojson";
  if (argc < kFirstValue) return fail(context, kFunction, "needs options, id and geometry"), nullptr;
  GeoJsonOptions options;
  std::string error;
  if (!parseGeoJsonOptions(textOf(argv[0]), options, error)) return fail(context, kFunction, error), nullptr;
  if (!checkArguments(context, kFunction, argc, options.fields.size())) return nullptr;
  Connection& connection = connectionOf(context);
  auto reprojector = connection.reprojectors.find(options.from, options.to, error);
  if (reprojector == nullptr) return fail(context, kFunction, error), nullptr;
  auto writer = takeIdle(connection.idleFeatureWriters);
  writer->begin(options, std::move(reprojector));
  return writer.release();
}

/** The group's encoder, opened by its first row; null after a failure. */
template <typename Encoder, typename Open>
Encoder* encoderOf(sqlite3_context* context, int argc, sqlite3_value** argv, Open&& open) {
  auto* group = static_cast<Group<Encoder>*>(sqlite3_aggregate_context(context, sizeof(Group<Encoder>)));
  if (group == nullptr) throw std::bad_alloc();
  if (group->encoder == nullptr && !group->failed) {
    group->encoder = open(context, argc, argv);
    group->failed = group->encoder == nullptr;
  }
  return group->encoder;
}

/** The group's encoder at its end; null when the group had no rows or failed. */
template <typename Encoder>
Encoder* finalEncoderOf(sqlite3_context* context) {
  auto* group = static_cast<Group<Encoder>*>(sqlite3_aggregate_context(context, 0));
  return group == nullptr ? nullptr : group->encoder;
}

}  // namespace

void tileStep(sqlite3_context* context, int argc, sqlite3_value** argv) {
  guarded(context, [&] {
    auto* encoder = encoderOf<TileLayerEncoder>(context, argc, argv, openTile);
    if (encoder == nullptr) return;
    size_t size = 0;
    const uint8_t* blob = blobOf(argv[2], size);
    if (!encoder->addGeometry(blob, size)) return;
    for (int i = kFirstValue; i < argc; ++i) encoder->tag(static_cast<size_t>(i - kFirstValue), valueOf(argv[i]));
    const bool hasId = sqlite3_value_type(argv[1]) == SQLITE_INTEGER;
    const int64_t id = hasId ? sqlite3_value_int64(argv[1]) : -1;
    const auto tileId = static_cast<uint64_t>(id);
    encoder->endFeature(id >= 0 ? &tileId : nullptr);
  });
}

void tileFinal(sqlite3_context* context) {
  guarded(context, [&] {
    auto* encoder = finalEncoderOf<TileLayerEncoder>(context);
    if (encoder == nullptr) return resultBlob(context, nullptr, 0);
    size_t size = 0;
    const uint8_t* tile = encoder->finish(size);
    resultBlob(context, tile, size);
    giveBack(connectionOf(context).idleTileEncoders, encoder);
  });
}

void featuresStep(sqlite3_context* context, int argc, sqlite3_value** argv) {
  guarded(context, [&] {
    auto* writer = encoderOf<GeoJsonFeatureWriter>(context, argc, argv, openFeatures);
    if (writer == nullptr) return;
    size_t size = 0;
    const uint8_t* blob = blobOf(argv[2], size);
    writer->beginFeature(valueOf(argv[1]), blob, size);
    for (int i = kFirstValue; i < argc; ++i) writer->property(static_cast<size_t>(i - kFirstValue), valueOf(argv[i]));
    writer->endFeature();
  });
}

void featuresFinal(sqlite3_context* context) {
  guarded(context, [&] {
    auto* writer = finalEncoderOf<GeoJsonFeatureWriter>(context);
    if (writer == nullptr) return resultBlob(context, nullptr, 0);
    resultBlob(context, writer->text().data(), writer->text().size());
    giveBack(connectionOf(context).idleFeatureWriters, writer);
  });
}

void tileFeatureCount(sqlite3_context* context, int, sqlite3_value** argv) {
  if (sqlite3_value_type(argv[0]) == SQLITE_NULL) return;
  size_t size = 0;
  const uint8_t* tile = blobOf(argv[0], size);
  const int64_t features = size == 0 ? 0 : countTileFeatures(tile, size);
  if (features < 0) return fail(context, "gr_mvt_count", "the value is not a vector tile");
  sqlite3_result_int64(context, features);
}

}  // namespace graticule::sqlite
