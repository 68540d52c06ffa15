// State that the functions of one database connection share. Only one thread uses a connection at a time.
#pragma once

#include <sqlite3ext.h>

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "../core/formats/csv.h"
#include "../core/formats/esri_json.h"
#include "../core/formats/esri_pbf.h"
#include "../core/clipping/generalise.h"
#include "../core/geometry/geodesic.h"
#include "../core/formats/geojson.h"
#include "../core/geometry/geos.h"
#include "../core/formats/gml.h"
#include "../core/geometry/reprojector.h"
#include "../core/scenes/scene_tile.h"
#include "../core/tiles/tile_layer.h"
#include "watchdog.h"

SQLITE_EXTENSION_INIT3

namespace graticule::sqlite {

/** The id of a feature: an integer, text, or Null. */
struct FeatureId {
  Value::Kind kind = Value::Kind::Null;
  int64_t integer = 0;
  std::string text;
};

/** Contents of a page. */
struct Written {
  int64_t features = 0;
  FeatureId first;
  FeatureId last;
  /** Bytes of the page, by which a value is recognised as that page. */
  size_t size = 0;
};

/** Statistics of an encoded tile layer. */
struct EncodedTile {
  int64_t dropped = 0;
  int64_t work = 0;
  /** Bytes of the tile, by which a value is recognised as that tile. */
  size_t size = 0;
};

/** A page of features in work. */
template <typename Writer>
struct FeaturePage {
  Writer writer;
  uint64_t maxBytes = 0;
  Written written;

  bool full() const { return maxBytes != 0 && writer.text().size() >= maxBytes; }
  void release() { writer.release(); }
};

template <typename Writer>
using FeaturePages = std::vector<std::unique_ptr<FeaturePage<Writer>>>;

/** Reprojectors and idle encoders, deleted with the last registered function. */
struct Connection {
  ReprojectorCache reprojectors;
  std::vector<std::unique_ptr<TileLayerEncoder>> idleTileEncoders;
  std::vector<std::unique_ptr<SceneTileEncoder>> idleSceneEncoders;
  FeaturePages<GeoJsonFeatureWriter> idleGeoJsonPages;
  FeaturePages<CsvFeatureWriter> idleCsvPages;
  FeaturePages<GmlFeatureWriter> idleGmlPages;
  FeaturePages<EsriJsonFeatureWriter> idleEsriJsonPages;
  FeaturePages<EsriPbfFeatureWriter> idleEsriPbfPages;
  /** The page and the tile that were finished last. */
  Written written;
  EncodedTile tile;
  /** Numbers in the memory of running percentiles. */
  size_t heldValues = 0;
  /** Reused by the scalar functions. */
  Geometry scratch;
  Generaliser generaliser;
  /** A geometry in work. */
  ByteBuffer blob;
  /** Created at the first use. Objects created in it keep it alive. */
  std::shared_ptr<Geos> geos;
  /** The CRS that distances were last measured in. */
  std::string measuredCrs;
  CrsMeasure measure;
  Watchdog watchdog;
};

using ConnectionRef = std::shared_ptr<Connection>;

inline const std::shared_ptr<Geos>& geosOf(Connection& connection) {
  if (connection.geos == nullptr) connection.geos = std::make_shared<Geos>();
  return connection.geos;
}

inline Connection& connectionOf(sqlite3_context* context) {
  return **static_cast<ConnectionRef*>(sqlite3_user_data(context));
}

/** Runs `body` so that no exception reaches SQLite: out of memory becomes SQLite's error. */
template <typename Body>
void guarded(sqlite3_context* context, Body&& body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    sqlite3_result_error_nomem(context);
  } catch (...) {
    sqlite3_result_error(context, "graticule: internal error", -1);
  }
}

inline void fail(sqlite3_context* context, const char* function, const std::string& why) {
  sqlite3_result_error(context, (std::string(function) + ": " + why).c_str(), -1);
}

/** Fails as a statement that was interrupted: its time is over. */
inline void failLate(sqlite3_context* context, const char* function) {
  fail(context, function, "out of time");
  sqlite3_result_error_code(context, SQLITE_INTERRUPT);
}

inline Value valueOf(sqlite3_value* v) {
  switch (sqlite3_value_type(v)) {
    case SQLITE_INTEGER: return Value::ofInteger(sqlite3_value_int64(v));
    case SQLITE_FLOAT: return Value::ofReal(sqlite3_value_double(v));
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(v));
      if (text == nullptr) throw std::bad_alloc();
      return Value::ofText(text, static_cast<size_t>(sqlite3_value_bytes(v)));
    }
    case SQLITE_BLOB: {
      const void* blob = sqlite3_value_blob(v);
      return Value::ofBlob(blob == nullptr ? "" : blob, static_cast<size_t>(sqlite3_value_bytes(v)));
    }
    default: return {};
  }
}

/** Returns the blob of a value. Null for any other value. */
inline const uint8_t* blobOf(sqlite3_value* v, size_t& size) {
  static constexpr uint8_t kNoBytes = 0;
  size = 0;
  if (sqlite3_value_type(v) != SQLITE_BLOB) return nullptr;
  const auto* blob = static_cast<const uint8_t*>(sqlite3_value_blob(v));
  size = static_cast<size_t>(sqlite3_value_bytes(v));
  // SQLite gives no pointer for a blob of no bytes.
  return size == 0 ? &kNoBytes : blob;
}

/** Same as blobOf() for a geometry column. A value that is not a blob is an unreadable geometry. */
inline const uint8_t* geometryOf(sqlite3_value* v, size_t& size) {
  const uint8_t* blob = blobOf(v, size);
  static constexpr uint8_t kNoBytes = 0;
  return blob == nullptr && sqlite3_value_type(v) != SQLITE_NULL ? &kNoBytes : blob;
}

inline std::string textOf(sqlite3_value* v) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(v));
  if (text == nullptr) return {};
  return std::string(text, static_cast<size_t>(sqlite3_value_bytes(v)));
}

/** Returns a blob of no bytes for empty data, because null would mean a missing result. */
inline void resultBlob(sqlite3_context* context, const uint8_t* data, size_t size) {
  if (size == 0) {
    sqlite3_result_zeroblob(context, 0);
  } else {
    sqlite3_result_blob64(context, data, size, SQLITE_TRANSIENT);
  }
}

void textTypeStep(sqlite3_context* context, int argc, sqlite3_value** argv);
void textTypeFinal(sqlite3_context* context);
void bin(sqlite3_context* context, int argc, sqlite3_value** argv);
void varianceStep(sqlite3_context* context, int argc, sqlite3_value** argv);
void varianceFinal(sqlite3_context* context);
void percentileContStep(sqlite3_context* context, int argc, sqlite3_value** argv);
void percentileContFinal(sqlite3_context* context);
void percentileDiscStep(sqlite3_context* context, int argc, sqlite3_value** argv);
void percentileDiscFinal(sqlite3_context* context);
void tileStep(sqlite3_context* context, int argc, sqlite3_value** argv);
void tileFinal(sqlite3_context* context);
void sceneStep(sqlite3_context* context, int argc, sqlite3_value** argv);
void sceneFinal(sqlite3_context* context);
void geoJsonStep(sqlite3_context* context, int argc, sqlite3_value** argv);
void geoJsonFinal(sqlite3_context* context);
void csvStep(sqlite3_context* context, int argc, sqlite3_value** argv);
void csvFinal(sqlite3_context* context);
void gmlStep(sqlite3_context* context, int argc, sqlite3_value** argv);
void gmlFinal(sqlite3_context* context);
void esriJsonStep(sqlite3_context* context, int argc, sqlite3_value** argv);
void esriJsonFinal(sqlite3_context* context);
void esriPbfStep(sqlite3_context* context, int argc, sqlite3_value** argv);
void esriPbfFinal(sqlite3_context* context);
void writtenCount(sqlite3_context* context, int argc, sqlite3_value** argv);
void writtenFirst(sqlite3_context* context, int argc, sqlite3_value** argv);
void writtenLast(sqlite3_context* context, int argc, sqlite3_value** argv);

void tileFeatureCount(sqlite3_context* context, int argc, sqlite3_value** argv);
void tileDropped(sqlite3_context* context, int argc, sqlite3_value** argv);
void tileWork(sqlite3_context* context, int argc, sqlite3_value** argv);
void generalise(sqlite3_context* context, int argc, sqlite3_value** argv);
void importance(sqlite3_context* context, int argc, sqlite3_value** argv);
void cell(sqlite3_context* context, int argc, sqlite3_value** argv);
void hilbert(sqlite3_context* context, int argc, sqlite3_value** argv);
void instant(sqlite3_context* context, int argc, sqlite3_value** argv);
void intersectsBox(sqlite3_context* context, int argc, sqlite3_value** argv);
void geometryLoss(sqlite3_context* context, int argc, sqlite3_value** argv);
void validGeometry(sqlite3_context* context, int argc, sqlite3_value** argv);
void transformBox(sqlite3_context* context, int argc, sqlite3_value** argv);
void intersects(sqlite3_context* context, int argc, sqlite3_value** argv);
void equals(sqlite3_context* context, int argc, sqlite3_value** argv);
void disjoint(sqlite3_context* context, int argc, sqlite3_value** argv);
void touches(sqlite3_context* context, int argc, sqlite3_value** argv);
void within(sqlite3_context* context, int argc, sqlite3_value** argv);
void overlaps(sqlite3_context* context, int argc, sqlite3_value** argv);
void crosses(sqlite3_context* context, int argc, sqlite3_value** argv);
void contains(sqlite3_context* context, int argc, sqlite3_value** argv);
void distanceMetres(sqlite3_context* context, int argc, sqlite3_value** argv);
void beforeDeadline(sqlite3_context* context, int argc, sqlite3_value** argv);
void endIn(sqlite3_context* context, int argc, sqlite3_value** argv);
void translate(sqlite3_context* context, int argc, sqlite3_value** argv);
void process(sqlite3_context* context, int argc, sqlite3_value** argv);
void geometryType(sqlite3_context* context, int argc, sqlite3_value** argv);
void minX(sqlite3_context* context, int argc, sqlite3_value** argv);
void maxX(sqlite3_context* context, int argc, sqlite3_value** argv);
void minY(sqlite3_context* context, int argc, sqlite3_value** argv);
void maxY(sqlite3_context* context, int argc, sqlite3_value** argv);
void isEmpty(sqlite3_context* context, int argc, sqlite3_value** argv);

}  // namespace graticule::sqlite
