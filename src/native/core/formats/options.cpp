#include "options.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "json.h"
#include "../values/number.h"

namespace graticule {
namespace {

bool readField(JsonReader& reader, std::string& name, FieldType& type) {
  type = FieldType::Any;
  if (reader.peek() == '"') return reader.readString(name);
  return reader.readObject([&](const std::string& key) {
    if (key == "name") return reader.readString(name);
    if (key != "type") return reader.skip();
    std::string word;
    return reader.readString(word) && parseFieldType(word, type);
  });
}

template <typename Field>
bool readFields(JsonReader& reader, std::vector<Field>& fields) {
  fields.clear();
  return reader.readArray([&] {
    Field field;
    if (!readField(reader, field.name, field.type)) return false;
    fields.push_back(std::move(field));
    return true;
  });
}

bool readBox(JsonReader& reader, Box& box) {
  double values[4];
  int n = 0;
  const bool read = reader.readArray([&] { return n < 4 && reader.readNumber(values[n++]); });
  box = {values[0], values[1], values[2], values[3]};
  return read && n == 4;
}

template <size_t N>
bool readNumbers(JsonReader& reader, std::array<double, N>& numbers) {
  size_t n = 0;
  return reader.readArray([&] { return n < N && reader.readNumber(numbers[n++]); }) && n == N;
}

bool readUnsigned(JsonReader& reader, uint32_t& value) {
  double number = 0;
  if (!reader.readNumber(number) || number < 0 || number > kMaxExtent || number != std::trunc(number)) return false;
  value = static_cast<uint32_t>(number);
  return true;
}

bool readSize(JsonReader& reader, uint64_t& value) {
  double number = 0;
  if (!reader.readNumber(number) || number < 0 || number > 9007199254740991.0) return false;
  value = static_cast<uint64_t>(number);
  return true;
}

bool readStep(JsonReader& reader, double& step) { return reader.readNumber(step) && step > 0 && std::isfinite(step); }

bool readHeight(JsonReader& reader, SceneHeight& height) {
  return reader.readObject([&](const std::string& key) {
    if (key == "metres") return readStep(reader, height.metres);
    if (key == "otherwise") return reader.readNumber(height.otherwise) && std::isfinite(height.otherwise);
    if (key != "column") return reader.skip();
    uint32_t column = 0;
    if (!readUnsigned(reader, column)) return false;
    height.column = static_cast<int>(column);
    return true;
  });
}

bool readQuantisation(JsonReader& reader, FeatureOptions::Quantisation& options) {
  options.on = true;
  return reader.readObject([&](const std::string& key) {
    if (key == "x") return reader.readNumber(options.x);
    if (key == "y") return reader.readNumber(options.y);
    if (key == "scale") return readStep(reader, options.scale);
    if (key == "zScale") return readStep(reader, options.zScale);
    if (key == "upperLeft") return reader.readBoolean(options.upperLeft);
    if (key == "view") return reader.readBoolean(options.view);
    return reader.skip();
  });
}

/** Walks the options object and turns the first failure into a sentence. */
template <typename Member>
bool readOptions(std::string_view json, std::string& error, Member&& member) {
  JsonReader reader(json.data(), json.size());
  std::string current;
  const bool read = reader.readObject([&](const std::string& key) {
    current = key;
    return member(reader, key);
  });
  if (read && reader.atEnd()) return true;
  error = current.empty() ? "the options are not a JSON object" : "the options have a wrong value at '" + current + "'";
  return false;
}

bool checkCrs(const std::string& from, const std::string& to, std::string& error) {
  if (!from.empty() && !to.empty()) return true;
  error = "the options lack 'from' or 'to'";
  return false;
}

}  // namespace

bool parseFieldType(std::string_view name, FieldType& type) {
  constexpr struct {
    std::string_view name;
    FieldType type;
  } kTypes[] = {{"integer", FieldType::Integer}, {"number", FieldType::Number},      {"string", FieldType::String},
                {"boolean", FieldType::Boolean}, {"date", FieldType::Date},          {"date-time", FieldType::DateTime},
                {"binary", FieldType::Binary},   {"json", FieldType::Json},
                {"array", FieldType::Json}};
  for (const auto& entry : kTypes) {
    if (entry.name != name) continue;
    type = entry.type;
    return true;
  }
  return false;
}

bool parseTileOptions(std::string_view json, TileLayerOptions& options, std::string& error) {
  options = {};
  options.from.clear();
  options.to.clear();
  const bool read = readOptions(json, error, [&](JsonReader& reader, const std::string& key) {
    if (key == "layer") return reader.readString(options.name);
    if (key == "fields") return readFields(reader, options.columns);
    if (key == "from") return reader.readString(options.from);
    if (key == "to") return reader.readString(options.to);
    if (key == "bbox") return readBox(reader, options.bbox);
    if (key == "extent") return readUnsigned(reader, options.extent);
    if (key == "buffer") return readUnsigned(reader, options.buffer);
    if (key == "simplify") return reader.readNumber(options.simplify);
    if (key == "maxFeatures") return readSize(reader, options.maxFeatures);
    if (key == "maxBytes") return readSize(reader, options.maxBytes);
    if (key == "cells") return readUnsigned(reader, options.cells);
    if (key == "deadline") return reader.readNumber(options.deadline);
    return reader.skip();
  });
  return read && checkTileOptions(options, error);
}

bool checkTileOptions(const TileLayerOptions& options, std::string& error) {
  if (options.name.empty()) {
    error = "the options lack 'layer'";
    return false;
  }
  const Box& b = options.bbox;
  const bool finite = std::isfinite(b.minX) && std::isfinite(b.minY) && std::isfinite(b.maxX) && std::isfinite(b.maxY);
  if (!finite || !(b.minX < b.maxX) || !(b.minY < b.maxY)) {
    error = "the options lack a 'bbox' of [minx, miny, maxx, maxy] with an area";
    return false;
  }
  if (options.extent == 0 || options.extent > kMaxExtent || options.buffer > kMaxExtent) {
    error = "'extent' must be 1 to 1048576 and 'buffer' 0 to 1048576";
    return false;
  }
  if (options.cells > TileCells::kMaxSide) {
    error = "'cells' must be 0 to " + std::to_string(TileCells::kMaxSide);
    return false;
  }
  if (!(options.simplify >= 0) || !std::isfinite(options.simplify)) {
    error = "'simplify' must not be negative";
    return false;
  }
  return checkCrs(options.from, options.to, error);
}

bool parseSceneTileOptions(std::string_view json, SceneTileOptions& options, std::string& error) {
  options = {};
  options.from.clear();
  std::array<double, 2> origin{SceneHeight::kNone, SceneHeight::kNone};
  uint64_t shown = 0;
  const bool read = readOptions(json, error, [&](JsonReader& reader, const std::string& key) {
    if (key == "fields") return readFields(reader, options.columns);
    if (key == "shown") return readSize(reader, shown);
    if (key == "from") return reader.readString(options.from);
    if (key == "window") return readBox(reader, options.window);
    if (key == "origin") return readNumbers(reader, origin);
    if (key == "faces") return reader.readBoolean(options.faces);
    if (key == "base") return readHeight(reader, options.base);
    if (key == "height") return readHeight(reader, options.height);
    if (key == "metresPerZ") return readStep(reader, options.metresPerZ);
    if (key == "offsets") return readNumbers(reader, options.offsets);
    if (key == "floor") return reader.readBoolean(options.floor);
    if (key == "color") return readNumbers(reader, options.color);
    if (key == "maxFeatures") return readSize(reader, options.maxFeatures);
    if (key == "maxBytes") return readSize(reader, options.maxBytes);
    if (key == "deadline") return reader.readNumber(options.deadline);
    if (key != "cellLevel") return reader.skip();
    uint32_t level = 0;
    if (!readUnsigned(reader, level) || level > SceneCells::kMaxLevel) return false;
    options.cellLevel = static_cast<int>(level);
    return true;
  });
  if (!read) return false;
  options.shown = shown;
  options.longitude = origin[0];
  options.latitude = origin[1];
  const auto isColumn = [&](const SceneHeight& height) { return height.column < static_cast<int>(options.columns.size()); };
  if (shown > options.columns.size() || !isColumn(options.base) || !isColumn(options.height)) {
    error = "the options refer to a column beyond 'fields'";
    return false;
  }
  const Box& w = options.window;
  if (!(w.minX < w.maxX) || !(w.minY < w.maxY) || !std::isfinite(w.maxX - w.minX) || !std::isfinite(w.maxY - w.minY)) {
    error = "the options lack a 'window' of [west, south, east, north] with an area";
    return false;
  }
  if (!(std::fabs(options.longitude) <= 360 && std::fabs(options.latitude) <= 90)) {
    error = "the options lack an 'origin' of longitude and latitude";
    return false;
  }
  const bool hasHeight = options.height.column >= 0 || options.height.otherwise > 0;
  if (!options.faces && !hasHeight) {
    error = "the options lack a 'height' with a column or a positive value";
    return false;
  }
  const bool isColor = std::all_of(options.color.begin(), options.color.end(), [](double c) { return c >= 0 && c <= 1; });
  if (!isColor) {
    error = "'color' must have four numbers from 0 to 1";
    return false;
  }
  return checkCrs(options.from, "EPSG:4326", error);
}

bool parseFeatureOptions(std::string_view json, FeatureOptions& options, std::string& error) {
  options = {};
  options.from.clear();
  options.to.clear();
  const bool read = readOptions(json, error, [&](JsonReader& reader, const std::string& key) {
    if (key == "fields") return readFields(reader, options.fields);
    if (key == "from") return reader.readString(options.from);
    if (key == "to") return reader.readString(options.to);
    if (key == "swap") return reader.readBoolean(options.format.swap);
    if (key == "type") return reader.readString(options.type);
    if (key == "geometry") return reader.readString(options.geometry);
    if (key == "srsName") return reader.readString(options.srsName);
    if (key == "id") return reader.readString(options.id);
    if (key == "idProperty") return reader.readString(options.idProperty);
    if (key == "skipGeometry") return reader.readBoolean(options.skipGeometry);
    if (key == "z") return reader.readBoolean(options.z);
    if (key == "loss") return reader.readBoolean(options.loss);
    if (key == "maxBytes") return readSize(reader, options.maxBytes);
    if (key == "guardsFormulas") return reader.readBoolean(options.guardsFormulas);
    if (key == "tolerance") return reader.readNumber(options.tolerance);
    if (key == "centroid") return reader.readBoolean(options.centroid);
    if (key == "degrees") return reader.readBoolean(options.degrees);
    if (key == "quantisation") return readQuantisation(reader, options.quantisation);
    if (key != "precision") return reader.skip();
    uint32_t precision = 0;
    if (!readUnsigned(reader, precision) || precision > kMaxPrecision) return false;
    options.format.precision = static_cast<int>(precision);
    return true;
  });
  return read && checkCrs(options.from, options.to, error);
}

bool parseGeoJsonReadOptions(std::string_view json, GeoJsonReadOptions& options, std::string& error) {
  options = {};
  options.from.clear();
  options.to.clear();
  const bool read = readOptions(json, error, [&](JsonReader& reader, const std::string& key) {
    if (key == "from") return reader.readString(options.from);
    if (key == "to") return reader.readString(options.to);
    if (key == "swap") return reader.readBoolean(options.swap);
    if (key == "maxVertices") return readUnsigned(reader, options.maxVertices);
    if (key != "dimension") return reader.skip();
    return readUnsigned(reader, options.dimension) && (options.dimension == 2 || options.dimension == 3);
  });
  return read && checkCrs(options.from, options.to, error);
}

}  // namespace graticule
