// The N-API addon: context-aware, so that any number of worker threads can load it.
#include "functions/analytics_functions.h"
#include "napi.h"
#include "functions/network_functions.h"
#include "functions/notation_functions.h"
#include "functions/operation_functions.h"
#include "postgres/pg_client.h"
#include "functions/processing_functions.h"
#include "functions/proximity_functions.h"
#include "functions/relate_functions.h"
#include "functions/tile_functions.h"
#include "functions/zonal_functions.h"

namespace graticule::addon {
namespace {

void setFunction(napi_env env, napi_value exports, const char* name, napi_callback callback) {
  napi_value function;
  check(napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, nullptr, &function));
  setProperty(env, exports, name, function);
}

void initialise(napi_env env, napi_value exports) {
  const auto destroy = [](napi_env, void* data, void*) { delete static_cast<Environment*>(data); };
  check(napi_set_instance_data(env, new Environment(), destroy, nullptr));
  setProperty(env, exports, "LayerEncoder", defineLayerEncoder(env));
  setProperty(env, exports, "PostgresConnection", definePostgresConnection(env));
  setFunction(env, exports, "geometryToGeoJson", guarded<geometryToGeoJson>);
  setFunction(env, exports, "transformBox", guarded<transformBox>);
  setFunction(env, exports, "transformPoints", guarded<transformPoints>);
  setFunction(env, exports, "describeCrs", guarded<describeCrs>);
  setFunction(env, exports, "listCrs", guarded<listCrs>);
  setFunction(env, exports, "namesFile", guarded<namesFile>);
  setFunction(env, exports, "geojsonToWkb", guarded<geojsonToWkb>);
  setFunction(env, exports, "wkbToGeoPackage", guarded<wkbToGeoPackage>);
  setFunction(env, exports, "validateGeometry", guarded<validateGeometry>);
  setFunction(env, exports, "centroids", guarded<centroids>);
  setFunction(env, exports, "dbscan", guarded<dbscan>);
  setFunction(env, exports, "createKMeans", guarded<createKMeans>);
  setFunction(env, exports, "iterateKMeans", guarded<iterateKMeans>);
  setFunction(env, exports, "readKMeans", guarded<readKMeans>);
  setFunction(env, exports, "createPointTree", guarded<createPointTree>);
  setFunction(env, exports, "sumNeighbours", guarded<sumNeighbours>);
  setFunction(env, exports, "h3Cells", guarded<h3Cells>);
  setFunction(env, exports, "h3Polygons", guarded<h3Polygons>);
  setFunction(env, exports, "ringsToGeoJson", guarded<ringsToGeoJson>);
  setFunction(env, exports, "bufferUnion", guarded<bufferUnion>);
  setFunction(env, exports, "createJoin", guarded<createJoin>);
  setFunction(env, exports, "addToJoin", guarded<addToJoin>);
  setFunction(env, exports, "matchJoin", guarded<matchJoin>);
  setFunction(env, exports, "processGeometries", guarded<processGeometries>);
  setFunction(env, exports, "processCollection", guarded<processCollection>);
  setFunction(env, exports, "createOverlay", guarded<createOverlay>);
  setFunction(env, exports, "addToOverlay", guarded<addToOverlay>);
  setFunction(env, exports, "overlayGeometries", guarded<overlayGeometries>);
  setFunction(env, exports, "intersectGeometries", guarded<intersectGeometries>);
  setFunction(env, exports, "snapGeometries", guarded<snapGeometries>);
  setFunction(env, exports, "geometryParts", guarded<geometryParts>);
  setFunction(env, exports, "createUnion", guarded<createUnion>);
  setFunction(env, exports, "addToUnion", guarded<addToUnion>);
  setFunction(env, exports, "takeUnion", guarded<takeUnion>);
  setFunction(env, exports, "formatPositions", guarded<formatPositions>);
  setFunction(env, exports, "parsePositions", guarded<parsePositions>);
  setFunction(env, exports, "findOperations", guarded<findOperations>);
  setFunction(env, exports, "transformByOperation", guarded<transformByOperation>);
  setFunction(env, exports, "relateGeometries", guarded<relateGeometries>);
  setFunction(env, exports, "createNearest", guarded<createNearest>);
  setFunction(env, exports, "addToNearest", guarded<addToNearest>);
  setFunction(env, exports, "searchNearest", guarded<searchNearest>);
  setFunction(env, exports, "distanceMatrix", guarded<distanceMatrix>);
  setFunction(env, exports, "measureGeometries", guarded<measureGeometries>);
  setFunction(env, exports, "createTallies", guarded<createTallies>);
  setFunction(env, exports, "addToTallies", guarded<addToTallies>);
  setFunction(env, exports, "readTallies", guarded<readTallies>);
  setFunction(env, exports, "buildNetwork", guarded<buildNetwork>);
  setFunction(env, exports, "openNetwork", guarded<openNetwork>);
  setFunction(env, exports, "describeNetwork", guarded<describeNetwork>);
  setFunction(env, exports, "readNetworkId", guarded<readNetworkId>);
  setFunction(env, exports, "findNetworkId", guarded<findNetworkId>);
  setFunction(env, exports, "locateOnNetwork", guarded<locateOnNetwork>);
  setFunction(env, exports, "createNetworkCosts", guarded<createNetworkCosts>);
  setFunction(env, exports, "updateNetworkCosts", guarded<updateNetworkCosts>);
  setFunction(env, exports, "compareNetworkCosts", guarded<compareNetworkCosts>);
  setFunction(env, exports, "createNetworkQuery", guarded<createNetworkQuery>);
  setFunction(env, exports, "findNetworkCosts", guarded<findNetworkCosts>);
  setFunction(env, exports, "findNetworkRoute", guarded<findNetworkRoute>);
  setFunction(env, exports, "readNetworkGeometry", guarded<readNetworkGeometry>);
  setFunction(env, exports, "gzip", guarded<gzip>);
  setFunction(env, exports, "gunzip", guarded<gunzip>);
  setFunction(env, exports, "gunzippedSize", guarded<gunzippedSize>);
  setFunction(env, exports, "compressBytes", guarded<compressBytes>);
  setFunction(env, exports, "createZstdStream", guarded<createZstdStream>);
  setFunction(env, exports, "writeZstdStream", guarded<writeZstdStream>);
  setFunction(env, exports, "unzstd", guarded<unzstd>);
  setFunction(env, exports, "unzstdLater", guarded<unzstdLater>);
  setFunction(env, exports, "mvtToMlt", guarded<mvtToMlt>);
  setFunction(env, exports, "mltToMvt", guarded<mltToMvt>);
  setFunction(env, exports, "encodePng", guarded<encodePng>);
  setFunction(env, exports, "encodePicturePng", guarded<encodePicturePng>);
  setFunction(env, exports, "encodeFewColorsPng", guarded<encodeFewColorsPng>);
  setFunction(env, exports, "encodeTiffTiles", guarded<encodeTiffTiles>);
  setFunction(env, exports, "mergeFunction", guarded<mergeFunction>);
  setFunction(env, exports, "releaseBytes", guarded<releaseBytes>);
  setFunction(env, exports, "watchLoop", guarded<watchLoop>);
}

}  // namespace
}  // namespace graticule::addon

NAPI_MODULE_INIT() {
  try {
    graticule::addon::initialise(env, exports);
  } catch (...) {
    napi_throw_error(env, nullptr, "the native addon could not be initialised");
  }
  return exports;
}
