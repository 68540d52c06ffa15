// One tile of a 3D scene: features in, binary glTF 2.0 out (content of 3D Tiles 1.1).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../geometry/geometry.h"
#include "../geometry/reprojector.h"
#include "../values/bytes.h"
#include "../values/value.h"
#include "glb.h"
#include "property_table.h"
#include "scene_cells.h"
#include "scene_mesh.h"

namespace graticule {

/** Source of one height of a feature, in metres. */
struct SceneHeight {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  /** Column whose value is the height; -1: none. */
  int column = -1;
  /** Metres per unit of the column. */
  double metres = 1;
  /** Height of features without a value, for `height`: without a value above 0. NaN: none. */
  double otherwise = kNone;
};

struct SceneTileOptions {
  /** Columns of the rows. The first `shown` columns become attributes. */
  std::vector<PropertyTable::Column> columns;
  size_t shown = 0;
  /** CRS of the data: anything PROJ reads. */
  std::string from = "EPSG:4326";
  /** The tile contains features whose first position is in this box: longitude and latitude, west and south included. */
  Box window;
  /** Longitude and latitude of the origin of positions. */
  double longitude = 0;
  double latitude = 0;
  /** True for features that are faces in space; otherwise their footprints are extruded from `base` by `height`. */
  bool faces = false;
  SceneHeight base;
  SceneHeight height;
  /** Metres per unit of Z. Without a value of `base`, the smallest Z of a footprint is its base. */
  double metresPerZ = 1;
  /** Added to heights to make them ellipsoidal: at the corners southwest, southeast, northwest, northeast of the window. */
  std::array<double, 4> offsets{0, 0, 0, 0};
  /** Whether extruded features are closed at the bottom. */
  bool floor = true;
  /** Linear RGBA, 0 to 1. */
  std::array<double, 4> color{0.8, 0.8, 0.8, 1};
  /** Bounds of the tile; 0: none. A tile beyond them fails. */
  uint64_t maxFeatures = 0;
  uint64_t maxBytes = 0;
  /** Level of the cells in which features are counted, in place of the tile. Negative: the tile is encoded. */
  int cellLevel = -1;
  /** Deadline in milliseconds since 1970. 0: none. */
  double deadline = 0;
};

/**
 * Builds one tile. Reusable: `begin()` starts over. Call addGeometry() per row and, if it returns true, setValue() for
 * each column and endFeature(). Longitudes and latitudes come from the reprojector, which leads to EPSG:4326.
 */
class SceneTileEncoder {
 public:
  enum class State : uint8_t { Ok, Late, TooLarge };

  void begin(const SceneTileOptions& options, std::shared_ptr<const Reprojector> reprojector);

  /** Returns false if the row has no readable polygon or belongs to another tile. The blob must live to endFeature(). */
  bool addGeometry(const uint8_t* blob, size_t size);
  void setValue(size_t column, const Value& value);
  void endFeature(const Value& id);

  /** Anything but Ok ends the tile: it has no result. */
  State state() const { return state_; }
  uint32_t features() const { return static_cast<uint32_t>(countsCells() ? counted_ : properties_.features()); }
  /** Amount of data that was read for the tile: bytes of geometries, and 256 per row. */
  uint64_t work() const { return work_; }

  /**
   * Returns the cells as doubles if the options have a level. Four counts come first: features, features without height,
   * without area, unreadable ones. See SceneCells for the rest. Otherwise returns the file. Its `asset.extras` contains the numbers of features and of omitted features.
   */
  const uint8_t* finish(size_t& size);

  /** Releases the reprojector and the memory. */
  void release();

 private:
  bool readPolygon(const Geometry& geometry, const Node& node);
  bool addPolygon(uint32_t feature);
  bool countPolygon();
  bool countsCells() const { return options_.cellLevel >= 0; }
  void finishCells();
  double baseOf() const;
  double offsetAt(double longitude, double latitude) const;
  void checkBounds();
  void writeMesh(ByteBuffer& json, bool hasProperties);
  void writeVertices(ByteBuffer& json);

  SceneTileOptions options_;
  std::shared_ptr<const Reprojector> reprojector_;
  std::optional<GroundFrame> frame_;
  std::optional<SceneMeshBuilder> builder_;
  SceneMesh mesh_;
  PropertyTable properties_;
  SceneCells cells_;
  uint64_t counted_ = 0;
  GlbWriter glb_;
  ByteBuffer file_;
  Geometry geometry_;
  SceneMeshBuilder::Polygon polygon_;
  std::vector<double> xy_;
  double base_ = SceneHeight::kNone;
  double height_ = SceneHeight::kNone;
  State state_ = State::Ok;
  uint64_t work_ = 0;
  uint64_t nextLook_ = 0;
  uint64_t withoutHeight_ = 0;
  uint64_t withoutArea_ = 0;
  uint64_t unreadable_ = 0;
};

}  // namespace graticule
