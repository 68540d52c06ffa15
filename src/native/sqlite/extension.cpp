// The loadable SQLite extension: registers every function on a connection. docs/contributing/sqlite-functions.md describes them.
#include <sqlite3ext.h>

SQLITE_EXTENSION_INIT1

#include "connection.h"

namespace graticule::sqlite {
namespace {

using Function = void (*)(sqlite3_context*, int, sqlite3_value**);
using Final = void (*)(sqlite3_context*);

/** A scalar function, or an aggregate function with a step and a final function. */
struct Definition {
  const char* name;
  int arguments;
  Function scalar;
  Function step;
  Final final;
  /** False for functions that read state of the connection. */
  bool deterministic = true;
  /** A view or trigger of an untrusted file must not call the function (SQLITE_DIRECTONLY). The other functions are harmless. */
  bool direct = false;
};

constexpr Definition kDefinitions[] = {
    {"gr_mvt", -1, nullptr, tileStep, tileFinal},
    {"gr_glb", -1, nullptr, sceneStep, sceneFinal},
    {"gr_geojson", -1, nullptr, geoJsonStep, geoJsonFinal},
    {"gr_csv", -1, nullptr, csvStep, csvFinal},
    {"gr_gml", -1, nullptr, gmlStep, gmlFinal},
    {"gr_esri_json", -1, nullptr, esriJsonStep, esriJsonFinal},
    {"gr_esri_pbf", -1, nullptr, esriPbfStep, esriPbfFinal},
    {"gr_written", 1, writtenCount, nullptr, nullptr, false},
    {"gr_first_id", 1, writtenFirst, nullptr, nullptr, false},
    {"gr_last_id", 1, writtenLast, nullptr, nullptr, false},
    {"gr_mvt_count", 1, tileFeatureCount, nullptr, nullptr},
    {"gr_mvt_dropped", 1, tileDropped, nullptr, nullptr, false},
    {"gr_mvt_work", 1, tileWork, nullptr, nullptr, false},
    {"gr_generalise", 2, generalise, nullptr, nullptr},
    {"gr_importance", 1, importance, nullptr, nullptr},
    {"gr_cell", 4, cell, nullptr, nullptr},
    {"gr_hilbert", 5, hilbert, nullptr, nullptr},
    {"gr_instant", 1, instant, nullptr, nullptr},
    {"gr_intersects_box", 5, intersectsBox, nullptr, nullptr},
    {"gr_translate", 3, translate, nullptr, nullptr},
    {"gr_process", 5, process, nullptr, nullptr},
    {"gr_geometry_type", 1, geometryType, nullptr, nullptr},
    {"gr_text_type", 1, nullptr, textTypeStep, textTypeFinal},
    {"gr_bin", 3, bin, nullptr, nullptr},
    {"gr_var_samp", 1, nullptr, varianceStep, varianceFinal},
    {"gr_percentile_cont", 3, nullptr, percentileContStep, percentileContFinal},
    {"gr_percentile_disc", 3, nullptr, percentileDiscStep, percentileDiscFinal},
    {"gr_before", 1, beforeDeadline, nullptr, nullptr, false},
    {"gr_end_in", 1, endIn, nullptr, nullptr, false, true},
    {"gr_valid_geometry", 1, validGeometry, nullptr, nullptr},
    {"gr_geometry_loss", 1, geometryLoss, nullptr, nullptr},
    {"gr_transform_box", 6, transformBox, nullptr, nullptr},
    {"gr_s_intersects", 2, intersects, nullptr, nullptr},
    {"gr_s_equals", 2, equals, nullptr, nullptr},
    {"gr_s_disjoint", 2, disjoint, nullptr, nullptr},
    {"gr_s_touches", 2, touches, nullptr, nullptr},
    {"gr_s_within", 2, within, nullptr, nullptr},
    {"gr_s_overlaps", 2, overlaps, nullptr, nullptr},
    {"gr_s_crosses", 2, crosses, nullptr, nullptr},
    {"gr_s_contains", 2, contains, nullptr, nullptr},
    {"gr_distance_m", 3, distanceMetres, nullptr, nullptr},
    // The triggers of a GeoPackage's R-tree call these names.
    {"ST_MinX", 1, minX, nullptr, nullptr},
    {"ST_MaxX", 1, maxX, nullptr, nullptr},
    {"ST_MinY", 1, minY, nullptr, nullptr},
    {"ST_MaxY", 1, maxY, nullptr, nullptr},
    {"ST_IsEmpty", 1, isEmpty, nullptr, nullptr},
};

void dropReference(void* reference) { delete static_cast<ConnectionRef*>(reference); }

int registerFunctions(sqlite3* db) {
  const auto connection = std::make_shared<Connection>();
  for (const Definition& d : kDefinitions) {
    // SQLite calls dropReference() also when the registration fails.
    const int flags = SQLITE_UTF8 | (d.direct ? SQLITE_DIRECTONLY : SQLITE_INNOCUOUS) |
                      (d.deterministic ? SQLITE_DETERMINISTIC : 0);
    const int rc = sqlite3_create_function_v2(db, d.name, d.arguments, flags, new ConnectionRef(connection), d.scalar,
                                              d.step, d.final, dropReference);
    if (rc != SQLITE_OK) return rc;
  }
  return SQLITE_OK;
}

}  // namespace
}  // namespace graticule::sqlite

extern "C" __attribute__((visibility("default"))) int sqlite3_graticulesqlite_init(sqlite3* db, char**,
                                                                                  const sqlite3_api_routines* api) {
  SQLITE_EXTENSION_INIT2(api);
  try {
    const int rc = graticule::sqlite::registerFunctions(db);
    // Stays loaded: PROJ keeps state per process that must not be unmapped with the last connection.
    return rc == SQLITE_OK ? SQLITE_OK_LOAD_PERMANENTLY : rc;
  } catch (...) {
    return SQLITE_NOMEM;
  }
}
