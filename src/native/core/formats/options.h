// Options of the encoders as JSON text.
#pragma once

#include <string>
#include <string_view>

#include "feature_options.h"
#include "geojson_reader.h"
#include "../scenes/scene_tile.h"
#include "../tiles/tile_layer.h"

namespace graticule {

/** Largest extent and buffer: grid differences and areas stay far inside their integers. */
constexpr uint32_t kMaxExtent = 1u << 20;

/**
 * Reads `{layer, fields, from, to, bbox, extent, buffer, simplify}`. `fields` contains names or {name, type} objects,
 * in the order of the values. `layer`, `from`, `to` and `bbox` are required. Otherwise returns false, and a sentence
 * in `error`.
 */
bool parseTileOptions(std::string_view json, TileLayerOptions& options, std::string& error);

/** Same checks as in parseTileOptions(), for options from another source. */
bool checkTileOptions(const TileLayerOptions& options, std::string& error);

/**
 * Reads `{fields, from, to, swap, precision, maxBytes, type, geometry, srsName}`; `from` and `to` are required.
 */
bool parseFeatureOptions(std::string_view json, FeatureOptions& options, std::string& error);

/** Reads `{from, to, swap, dimension, maxVertices}`; `from` and `to` are required. */
bool parseGeoJsonReadOptions(std::string_view json, GeoJsonReadOptions& options, std::string& error);

/**
 * Reads `{fields, shown, from, window, origin, faces, base, height, metresPerZ, offsets, floor, color, maxFeatures,
 * maxBytes, cellLevel, deadline}`. `from`, `window` and `origin` are required, and `height` unless `faces`. `base` and `height`
 * are objects `{column, metres, otherwise}`.
 */
bool parseSceneTileOptions(std::string_view json, SceneTileOptions& options, std::string& error);

/** FieldType of src/core/tasks/tasks.ts by its name; false for another word. */
bool parseFieldType(std::string_view name, FieldType& type);

}  // namespace graticule
