// gr_mvt, gr_glb, gr_geojson, gr_csv, gr_gml, gr_esri_json and gr_esri_pbf: a complete tile layer or page of features as one
// value.
#include "../core/formats/options.h"
#include "connection.h"

namespace graticule::sqlite {
namespace {

/** Arguments before the attribute values: options, id, geometry. */
constexpr int kFirstValue = 3;

/** State that SQLite keeps per group: zeroed memory, so a null encoder means the first row. */
template <typename Encoder>
struct Group {
  Encoder* encoder;
  bool failed;
};


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

SceneTileEncoder* openScene(sqlite3_context* context, int argc, sqlite3_value** argv) {
  constexpr const char* kFunction = "gr_glb";
  if (argc < kFirstValue) return fail(context, kFunction, "needs options, id and geometry"), nullptr;
  SceneTileOptions options;
  std::string error;
  if (!parseSceneTileOptions(textOf(argv[0]), options, error)) return fail(context, kFunction, error), nullptr;
  if (!checkArguments(context, kFunction, argc, options.columns.size())) return nullptr;
  Connection& connection = connectionOf(context);
  auto reprojector = connection.reprojectors.find(options.from, "EPSG:4326", error);
  if (reprojector == nullptr) return fail(context, kFunction, error), nullptr;
  auto encoder = takeIdle(connection.idleSceneEncoders);
  encoder->begin(options, std::move(reprojector));
  return encoder.release();
}

/** Names that distinguish the feature formats. */
constexpr const char* nameOf(const FeaturePage<GeoJsonFeatureWriter>*) { return "gr_geojson"; }
constexpr const char* nameOf(const FeaturePage<CsvFeatureWriter>*) { return "gr_csv"; }
constexpr const char* nameOf(const FeaturePage<GmlFeatureWriter>*) { return "gr_gml"; }
constexpr const char* nameOf(const FeaturePage<EsriJsonFeatureWriter>*) { return "gr_esri_json"; }
constexpr const char* nameOf(const FeaturePage<EsriPbfFeatureWriter>*) { return "gr_esri_pbf"; }

auto& idleOf(Connection& c, const FeaturePage<GeoJsonFeatureWriter>*) { return c.idleGeoJsonPages; }
auto& idleOf(Connection& c, const FeaturePage<CsvFeatureWriter>*) { return c.idleCsvPages; }
auto& idleOf(Connection& c, const FeaturePage<GmlFeatureWriter>*) { return c.idleGmlPages; }
auto& idleOf(Connection& c, const FeaturePage<EsriJsonFeatureWriter>*) { return c.idleEsriJsonPages; }
auto& idleOf(Connection& c, const FeaturePage<EsriPbfFeatureWriter>*) { return c.idleEsriPbfPages; }

template <typename Page>
bool check(const Page*, const FeatureOptions&, std::string&) {
  return true;
}
bool check(const FeaturePage<GmlFeatureWriter>*, const FeatureOptions& options, std::string& error) {
  return checkGmlOptions(options, error);
}

template <typename Page>
Page* openPage(sqlite3_context* context, int argc, sqlite3_value** argv) {
  constexpr const Page* kTag = nullptr;
  const char* function = nameOf(kTag);
  if (argc < kFirstValue) return fail(context, function, "needs options, id and geometry"), nullptr;
  FeatureOptions options;
  std::string error;
  if (!parseFeatureOptions(textOf(argv[0]), options, error) || !check(kTag, options, error)) {
    return fail(context, function, error), nullptr;
  }
  if (!checkArguments(context, function, argc, options.fields.size())) return nullptr;
  Connection& connection = connectionOf(context);
  auto reprojector = connection.reprojectors.find(options.from, options.to, error);
  if (reprojector == nullptr) return fail(context, function, error), nullptr;
  auto page = takeIdle(idleOf(connection, kTag));
  page->writer.begin(options, std::move(reprojector));
  page->maxBytes = options.maxBytes;
  page->written = {};
  return page.release();
}

void remember(FeatureId& id, const Value& value) {
  id.kind = value.kind == Value::Kind::Integer || value.kind == Value::Kind::Text ? value.kind : Value::Kind::Null;
  id.integer = value.integer;
  if (id.kind == Value::Kind::Text) id.text.assign(value.bytes, value.size);
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
    const uint8_t* blob = geometryOf(argv[2], size);
    const bool shown = encoder->addGeometry(blob, size);
    if (encoder->late()) return failLate(context, "gr_mvt");
    if (!shown) return;
    for (int i = kFirstValue; i < argc; ++i) encoder->tag(static_cast<size_t>(i - kFirstValue), valueOf(argv[i]));
    const bool hasId = sqlite3_value_type(argv[1]) == SQLITE_INTEGER;
    const int64_t id = hasId ? sqlite3_value_int64(argv[1]) : -1;
    const auto tileId = static_cast<uint64_t>(id);
    encoder->endFeature(id >= 0 ? &tileId : nullptr);
  });
}

void tileFinal(sqlite3_context* context) {
  guarded(context, [&] {
    Connection& connection = connectionOf(context);
    connection.tile = {};
    auto* encoder = finalEncoderOf<TileLayerEncoder>(context);
    if (encoder == nullptr) return resultBlob(context, nullptr, 0);
    size_t size = 0;
    const uint8_t* tile = encoder->finish(size);
    resultBlob(context, tile, size);
    connection.tile = {static_cast<int64_t>(encoder->dropped()), static_cast<int64_t>(encoder->work()), size};
    giveBack(connection.idleTileEncoders, encoder);
  });
}

void sceneStep(sqlite3_context* context, int argc, sqlite3_value** argv) {
  guarded(context, [&] {
    auto* encoder = encoderOf<SceneTileEncoder>(context, argc, argv, openScene);
    if (encoder == nullptr) return;
    size_t size = 0;
    const uint8_t* blob = geometryOf(argv[2], size);
    if (encoder->addGeometry(blob, size)) {
      for (int i = kFirstValue; i < argc; ++i) encoder->setValue(static_cast<size_t>(i - kFirstValue), valueOf(argv[i]));
      encoder->endFeature(valueOf(argv[1]));
    }
    if (encoder->state() == SceneTileEncoder::State::Late) return failLate(context, "gr_glb");
    if (encoder->state() == SceneTileEncoder::State::Ok) return;
    fail(context, "gr_glb", "the tile is too large");
    sqlite3_result_error_code(context, SQLITE_TOOBIG);
  });
}

void sceneFinal(sqlite3_context* context) {
  guarded(context, [&] {
    auto* encoder = finalEncoderOf<SceneTileEncoder>(context);
    if (encoder == nullptr) return resultBlob(context, nullptr, 0);
    size_t size = 0;
    const uint8_t* file = encoder->finish(size);
    resultBlob(context, file, size);
    giveBack(connectionOf(context).idleSceneEncoders, encoder);
  });
}

namespace {

template <typename Page>
void pageStep(sqlite3_context* context, int argc, sqlite3_value** argv) {
  guarded(context, [&] {
    Page* page = encoderOf<Page>(context, argc, argv, openPage<Page>);
    if (page == nullptr || page->full()) return;
    size_t size = 0;
    const uint8_t* blob = geometryOf(argv[2], size);
    const Value id = valueOf(argv[1]);
    page->writer.beginFeature(id, blob, size);
    for (int i = kFirstValue; i < argc; ++i) {
      page->writer.property(static_cast<size_t>(i - kFirstValue), valueOf(argv[i]));
    }
    page->writer.endFeature();
    if (page->written.features++ == 0) remember(page->written.first, id);
    remember(page->written.last, id);
  });
}

template <typename Page>
void pageFinal(sqlite3_context* context) {
  guarded(context, [&] {
    Connection& connection = connectionOf(context);
    Page* page = finalEncoderOf<Page>(context);
    if (page == nullptr) {
      connection.written = {};
      return resultBlob(context, nullptr, 0);
    }
    const ByteBuffer& text = page->writer.text();
    resultBlob(context, text.data(), text.size());
    connection.written = page->written;
    connection.written.size = text.size();
    giveBack(idleOf(connection, page), page);
  });
}

/** Returns the contents of the latest page of this connection. Null if the argument is not that page. */
const Written* writtenOf(sqlite3_context* context, sqlite3_value* value) {
  size_t size = 0;
  const Written& written = connectionOf(context).written;
  return blobOf(value, size) != nullptr && size == written.size ? &written : nullptr;
}

void resultId(sqlite3_context* context, const FeatureId& id) {
  if (id.kind == Value::Kind::Integer) return sqlite3_result_int64(context, id.integer);
  if (id.kind != Value::Kind::Text) return;
  sqlite3_result_text64(context, id.text.data(), id.text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

}  // namespace

void geoJsonStep(sqlite3_context* c, int argc, sqlite3_value** argv) {
  pageStep<FeaturePage<GeoJsonFeatureWriter>>(c, argc, argv);
}
void geoJsonFinal(sqlite3_context* c) { pageFinal<FeaturePage<GeoJsonFeatureWriter>>(c); }
void csvStep(sqlite3_context* c, int argc, sqlite3_value** argv) {
  pageStep<FeaturePage<CsvFeatureWriter>>(c, argc, argv);
}
void csvFinal(sqlite3_context* c) { pageFinal<FeaturePage<CsvFeatureWriter>>(c); }
void gmlStep(sqlite3_context* c, int argc, sqlite3_value** argv) {
  pageStep<FeaturePage<GmlFeatureWriter>>(c, argc, argv);
}
void gmlFinal(sqlite3_context* c) { pageFinal<FeaturePage<GmlFeatureWriter>>(c); }
void esriJsonStep(sqlite3_context* c, int argc, sqlite3_value** argv) {
  pageStep<FeaturePage<EsriJsonFeatureWriter>>(c, argc, argv);
}
void esriJsonFinal(sqlite3_context* c) { pageFinal<FeaturePage<EsriJsonFeatureWriter>>(c); }
void esriPbfStep(sqlite3_context* c, int argc, sqlite3_value** argv) {
  pageStep<FeaturePage<EsriPbfFeatureWriter>>(c, argc, argv);
}
void esriPbfFinal(sqlite3_context* c) { pageFinal<FeaturePage<EsriPbfFeatureWriter>>(c); }

void writtenCount(sqlite3_context* context, int, sqlite3_value** argv) {
  const Written* written = writtenOf(context, argv[0]);
  if (written != nullptr) sqlite3_result_int64(context, written->features);
}

void writtenFirst(sqlite3_context* context, int, sqlite3_value** argv) {
  const Written* written = writtenOf(context, argv[0]);
  if (written != nullptr) resultId(context, written->first);
}

void writtenLast(sqlite3_context* context, int, sqlite3_value** argv) {
  const Written* written = writtenOf(context, argv[0]);
  if (written != nullptr) resultId(context, written->last);
}

void tileDropped(sqlite3_context* context, int, sqlite3_value** argv) {
  size_t size = 0;
  const EncodedTile& tile = connectionOf(context).tile;
  if (blobOf(argv[0], size) != nullptr && size == tile.size) sqlite3_result_int64(context, tile.dropped);
}

void tileWork(sqlite3_context* context, int, sqlite3_value** argv) {
  size_t size = 0;
  const EncodedTile& tile = connectionOf(context).tile;
  if (blobOf(argv[0], size) != nullptr && size == tile.size) sqlite3_result_int64(context, tile.work);
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
