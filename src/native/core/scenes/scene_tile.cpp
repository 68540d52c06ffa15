#include "scene_tile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "../geometry/wkb.h"

namespace graticule {
namespace {

/** Work between two checks of the deadline. */
constexpr uint64_t kWorkPerLook = 1u << 20;
constexpr uint64_t kWorkPerRow = 256;
/** Bytes of a vertex and of an index in the file. */
constexpr uint64_t kVertexBytes = 20;
constexpr uint64_t kIndexBytes = 4;
/** Memory an idle encoder may keep per buffer. */
constexpr size_t kKeptMemory = 4u << 20;
constexpr double kMetresPerFoot = 0.3048;

/** Longitudes and latitudes that are positions. */
bool isOnEarth(double longitude, double latitude) {
  return std::fabs(longitude) <= 540 && std::fabs(latitude) <= 90;
}

/** Reads a number with an optional unit: `12.5`, `12 m`, `40 ft`, `40'`. NaN for other values. */
double readHeight(const Value& value) {
  if (value.kind == Value::Kind::Integer) return static_cast<double>(value.integer);
  if (value.kind == Value::Kind::Real) return value.real;
  if (value.kind != Value::Kind::Text || value.size == 0 || value.size > 32) return SceneHeight::kNone;
  double number = 0;
  const char* const end = value.bytes + value.size;
  const auto [rest, error] = std::from_chars(value.bytes, end, number);
  if (error != std::errc()) return SceneHeight::kNone;
  std::string_view unit(rest, static_cast<size_t>(end - rest));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  while (!unit.empty() && unit.back() == ' ') unit.remove_suffix(1);
  if (unit.empty() || unit == "m") return number;
  return unit == "ft" || unit == "'" ? number * kMetresPerFoot : SceneHeight::kNone;
}

/** Rotation from glTF axes at the origin (x east, y up, z south) to those of the earth (x, z, -y), as a quaternion. */
std::array<double, 4> rotationOf(const GroundFrame& frame) {
  const Vector3& e = frame.east();
  const Vector3& n = frame.north();
  const Vector3& u = frame.up();
  const double m00 = e.x, m01 = u.x, m02 = -n.x;
  const double m10 = e.z, m11 = u.z, m12 = -n.z;
  const double m20 = -e.y, m21 = -u.y, m22 = n.y;
  // The other components are divided by the largest one, to keep their digits.
  const std::array<double, 4> squares{1 + m00 - m11 - m22, 1 - m00 + m11 - m22, 1 - m00 - m11 + m22, 1 + m00 + m11 + m22};
  const auto greatest = std::max_element(squares.begin(), squares.end()) - squares.begin();
  const double root = std::sqrt(squares[static_cast<size_t>(greatest)]);
  const double part = 0.5 / root;
  switch (greatest) {
    case 0: return {0.5 * root, (m10 + m01) * part, (m20 + m02) * part, (m21 - m12) * part};
    case 1: return {(m10 + m01) * part, 0.5 * root, (m21 + m12) * part, (m02 - m20) * part};
    case 2: return {(m20 + m02) * part, (m21 + m12) * part, 0.5 * root, (m10 - m01) * part};
    default: return {(m21 - m12) * part, (m02 - m20) * part, (m10 - m01) * part, 0.5 * root};
  }
}

template <size_t N>
void appendNumbers(ByteBuffer& out, const std::array<double, N>& numbers) {
  out.push('[');
  for (size_t i = 0; i < N; ++i) {
    if (i != 0) out.push(',');
    appendNumber(out, numbers[i]);
  }
  out.push(']');
}

void appendCount(ByteBuffer& out, std::string_view name, uint64_t count) {
  if (count == 0) return;
  appendText(out, ",\"");
  appendText(out, name);
  appendText(out, "\":");
  appendInteger(out, static_cast<int64_t>(count));
}

/** Returns the number of positions of a ring without the repeated last one. */
uint32_t openCount(const Sequence& ring) {
  uint32_t n = ring.count;
  while (n > 1 && ring.x(n - 1) == ring.x(0) && ring.y(n - 1) == ring.y(0) &&
         (!ring.hasZ || ring.z(n - 1) == ring.z(0))) {
    --n;
  }
  return n;
}

}  // namespace

void SceneTileEncoder::begin(const SceneTileOptions& options, std::shared_ptr<const Reprojector> reprojector) {
  options_ = options;
  reprojector_ = std::move(reprojector);
  frame_.emplace(options.longitude, options.latitude);
  mesh_.clear();
  builder_.emplace(mesh_, *frame_);
  std::vector<PropertyTable::Column> columns{{"id", FieldType::Any}};
  for (size_t i = 0; i < options.shown; ++i) {
    if (options.columns[i].name == "id") columns[0].name = "feature_id";
    columns.push_back(options.columns[i]);
  }
  properties_.begin(columns);
  cells_.begin(countsCells() ? static_cast<uint32_t>(options.cellLevel) : 0);
  counted_ = 0;
  glb_.clear();
  state_ = State::Ok;
  work_ = 0;
  nextLook_ = kWorkPerLook;
  withoutHeight_ = withoutArea_ = unreadable_ = 0;
}

bool SceneTileEncoder::addGeometry(const uint8_t* blob, size_t size) {
  work_ += size + kWorkPerRow;
  if (state_ != State::Ok || blob == nullptr) return false;
  if (options_.deadline != 0 && work_ >= nextLook_) {
    nextLook_ = work_ + kWorkPerLook;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    if (static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()) > options_.deadline) {
      state_ = State::Late;
      return false;
    }
  }
  BlobHeader header;
  if (readHeader(blob, size, header) != ReadStatus::Ok ||
      readWkb(blob + header.wkbOffset, size - header.wkbOffset, geometry_) != ReadStatus::Ok) {
    ++unreadable_;
    return false;
  }
  const auto polygon = std::find_if(geometry_.nodes.begin(), geometry_.nodes.end(), [&](const Node& node) {
    return node.type == GeometryType::Polygon && node.sequences != 0 && geometry_.sequences[node.firstSequence].count != 0;
  });
  if (polygon == geometry_.nodes.end()) return false;
  const Sequence& first = geometry_.sequences[polygon->firstSequence];
  double xy[2] = {first.x(0), first.y(0)};
  reprojector_->transform(xy, 1);
  const Box& w = options_.window;
  if (!(xy[0] >= w.minX && xy[0] < w.maxX && xy[1] >= w.minY && xy[1] < w.maxY)) return false;
  if (countsCells()) {
    cells_.beginFeature(xy[0], xy[1]);
  } else {
    properties_.addFeature();
  }
  base_ = height_ = SceneHeight::kNone;
  return true;
}

void SceneTileEncoder::setValue(size_t column, const Value& value) {
  if (column < options_.shown && !countsCells()) properties_.set(column + 1, value);
  const auto isColumn = [&](const SceneHeight& height) {
    return height.column >= 0 && static_cast<size_t>(height.column) == column;
  };
  if (isColumn(options_.base)) base_ = readHeight(value) * options_.base.metres;
  if (isColumn(options_.height)) height_ = readHeight(value) * options_.height.metres;
}

/** Fills `polygon_`. False if it has no ring of three positions, or one that cannot be projected. */
bool SceneTileEncoder::readPolygon(const Geometry& geometry, const Node& node) {
  polygon_.clear();
  for (uint32_t r = 0; r < node.sequences; ++r) {
    const Sequence& ring = geometry.sequences[node.firstSequence + r];
    const uint32_t n = openCount(ring);
    if (n < 3) {
      if (r == 0) return false;
      continue;
    }
    for (uint32_t i = 0; i < n; ++i) {
      polygon_.lonLat.push_back(ring.x(i));
      polygon_.lonLat.push_back(ring.y(i));
      if (ring.hasZ) polygon_.heights.push_back(ring.z(i) * options_.metresPerZ);
    }
    polygon_.ends.push_back(static_cast<uint32_t>(polygon_.lonLat.size() / 2));
  }
  if (polygon_.ends.empty()) return false;
  reprojector_->transform(polygon_.lonLat.data(), polygon_.lonLat.size() / 2);
  for (size_t i = 0; i < polygon_.lonLat.size(); i += 2) {
    if (!isOnEarth(polygon_.lonLat[i], polygon_.lonLat[i + 1])) return false;
  }
  if (polygon_.heights.size() * 2 != polygon_.lonLat.size()) polygon_.heights.clear();
  return std::all_of(polygon_.heights.begin(), polygon_.heights.end(), [](double z) { return std::isfinite(z); });
}

/** Bilinear between the corners of the window, also beyond it. */
double SceneTileEncoder::offsetAt(double longitude, double latitude) const {
  const Box& w = options_.window;
  const double x = (longitude - w.minX) / (w.maxX - w.minX);
  const double y = (latitude - w.minY) / (w.maxY - w.minY);
  const auto& o = options_.offsets;
  return (o[0] * (1 - x) + o[1] * x) * (1 - y) + (o[2] * (1 - x) + o[3] * x) * y;
}

bool SceneTileEncoder::addPolygon(uint32_t feature) {
  if (options_.faces) {
    if (polygon_.heights.empty()) return false;
    for (size_t i = 0; i < polygon_.heights.size(); ++i) {
      polygon_.heights[i] += offsetAt(polygon_.lonLat[2 * i], polygon_.lonLat[2 * i + 1]);
    }
    return builder_->addFace(polygon_, feature);
  }
  const double base = baseOf();
  return builder_->extrude(polygon_, base, base + height_, options_.floor, feature);
}

/** Ellipsoidal height of the bottom of the footprint in `polygon_`. */
double SceneTileEncoder::baseOf() const {
  double base = base_;
  if (std::isnan(base) && !polygon_.heights.empty()) {
    base = *std::min_element(polygon_.heights.begin(), polygon_.heights.end());
  }
  if (std::isnan(base)) base = std::isnan(options_.base.otherwise) ? 0 : options_.base.otherwise;
  return base + offsetAt(polygon_.lonLat[0], polygon_.lonLat[1]);
}

/** Adds the region of `polygon_` to its cell. */
bool SceneTileEncoder::countPolygon() {
  if (options_.faces && polygon_.heights.empty()) return false;
  Box box;
  for (size_t i = 0; i < polygon_.lonLat.size(); i += 2) box.add(polygon_.lonLat[i], polygon_.lonLat[i + 1]);
  if (!options_.faces) {
    const double base = baseOf();
    cells_.extend(box, base, base + height_);
    return true;
  }
  const auto [low, high] = std::minmax_element(polygon_.heights.begin(), polygon_.heights.end());
  const double offset = offsetAt(polygon_.lonLat[0], polygon_.lonLat[1]);
  cells_.extend(box, *low + offset, *high + offset);
  return true;
}

void SceneTileEncoder::endFeature(const Value& id) {
  if (!(height_ > 0)) height_ = options_.height.otherwise;
  if (!options_.faces && !(height_ > 0 && std::isfinite(height_))) {
    ++withoutHeight_;
    if (!countsCells()) properties_.removeFeature();
    return;
  }
  const auto feature = static_cast<uint32_t>(properties_.features() - 1);
  if (!countsCells()) properties_.set(0, id);
  bool added = false;
  for (const Node& node : geometry_.nodes) {
    if (node.type != GeometryType::Polygon || !readPolygon(geometry_, node)) continue;
    added = (countsCells() ? countPolygon() : addPolygon(feature)) || added;
  }
  if (!added) {
    ++withoutArea_;
    if (!countsCells()) properties_.removeFeature();
    return;
  }
  if (countsCells()) {
    cells_.countFeature();
    ++counted_;
  }
  checkBounds();
}

void SceneTileEncoder::checkBounds() {
  const uint64_t bytes =
      mesh_.vertices() * kVertexBytes + mesh_.indices.size() * kIndexBytes + properties_.textSize();
  if (countsCells()) {
    const uint64_t size = cells_.size() * SceneCells::kCellNumbers * sizeof(double);
    if (options_.maxBytes != 0 && size > options_.maxBytes) state_ = State::TooLarge;
    return;
  }
  const bool tooMany = options_.maxFeatures != 0 && properties_.features() > options_.maxFeatures;
  if (tooMany || (options_.maxBytes != 0 && bytes > options_.maxBytes)) state_ = State::TooLarge;
}

/** Accessors and views of positions, normals, feature numbers and indices; glTF's axes are x east, y up, z south. */
void SceneTileEncoder::writeVertices(ByteBuffer& json) {
  const size_t n = mesh_.vertices();
  std::array<double, 3> low;
  std::array<double, 3> high;
  low.fill(std::numeric_limits<double>::infinity());
  high.fill(-std::numeric_limits<double>::infinity());
  const auto accessor = [&](uint32_t view, int componentType, size_t count, std::string_view type) {
    appendText(json, "{\"bufferView\":");
    appendInteger(json, view);
    appendText(json, ",\"componentType\":");
    appendInteger(json, componentType);
    appendText(json, ",\"count\":");
    appendInteger(json, static_cast<int64_t>(count));
    appendText(json, ",\"type\":\"");
    appendText(json, type);
    json.push('"');
  };
  constexpr int kByte = 5120;
  constexpr int kUnsignedShort = 5123;
  constexpr int kUnsignedInt = 5125;
  constexpr int kFloat = 5126;

  glb_.beginView();
  for (size_t i = 0; i < n; ++i) {
    const double* p = mesh_.positions.data() + 3 * i;
    const float xyz[3] = {static_cast<float>(p[0]), static_cast<float>(p[2]), static_cast<float>(-p[1])};
    for (size_t k = 0; k < 3; ++k) {
      low[k] = std::min<double>(low[k], xyz[k]);
      high[k] = std::max<double>(high[k], xyz[k]);
    }
    glb_.bytes().append(xyz, sizeof xyz);
  }
  appendText(json, ",\"accessors\":[");
  accessor(glb_.endView(GlbWriter::Target::Vertices, 12), kFloat, n, "VEC3");
  appendText(json, ",\"min\":");
  appendNumbers(json, low);
  appendText(json, ",\"max\":");
  appendNumbers(json, high);
  appendText(json, "},");

  glb_.beginView();
  for (size_t i = 0; i < n; ++i) {
    const int8_t* v = mesh_.normals.data() + 4 * i;
    const int8_t xyz[4] = {v[0], v[2], static_cast<int8_t>(-v[1]), 0};
    glb_.bytes().append(xyz, sizeof xyz);
  }
  accessor(glb_.endView(GlbWriter::Target::Vertices, 4), kByte, n, "VEC3");
  appendText(json, ",\"normalized\":true},");

  const bool isShort = properties_.features() <= 1u << 16;
  glb_.beginView();
  for (const uint32_t feature : mesh_.features) {
    if (isShort) {
      glb_.put<uint32_t>(feature);
    } else {
      glb_.put(static_cast<float>(feature));
    }
  }
  accessor(glb_.endView(GlbWriter::Target::Vertices, 4), isShort ? kUnsignedShort : kFloat, n, "SCALAR");
  appendText(json, "},");

  const bool isSmall = n < std::numeric_limits<uint16_t>::max();
  glb_.beginView();
  for (const uint32_t index : mesh_.indices) {
    if (isSmall) {
      glb_.put(static_cast<uint16_t>(index));
    } else {
      glb_.put(index);
    }
  }
  accessor(glb_.endView(GlbWriter::Target::Indices), isSmall ? kUnsignedShort : kUnsignedInt, mesh_.indices.size(),
           "SCALAR");
  appendText(json, "}]");
}

void SceneTileEncoder::writeMesh(ByteBuffer& json, bool hasProperties) {
  appendText(json, ",\"scene\":0,\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"mesh\":0,\"translation\":");
  const Vector3& o = frame_->origin();
  appendNumbers(json, std::array<double, 3>{o.x, o.z, -o.y});
  appendText(json, ",\"rotation\":");
  appendNumbers(json, rotationOf(*frame_));
  appendText(json, "}],\"materials\":[{\"pbrMetallicRoughness\":{\"baseColorFactor\":");
  appendNumbers(json, options_.color);
  appendText(json, ",\"metallicFactor\":0,\"roughnessFactor\":1}");
  if (options_.color[3] < 1) appendText(json, ",\"alphaMode\":\"BLEND\"");
  // Faces in space can have either orientation.
  if (options_.faces) appendText(json, ",\"doubleSided\":true");
  appendText(json,
             "}],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"NORMAL\":1,\"_FEATURE_ID_0\":2},"
             "\"indices\":3,\"material\":0,\"extensions\":{\"EXT_mesh_features\":{\"featureIds\":[{\"featureCount\":");
  appendInteger(json, static_cast<int64_t>(properties_.features()));
  appendText(json, ",\"attribute\":0");
  if (hasProperties) appendText(json, ",\"propertyTable\":0");
  appendText(json, "}]}}}]}]");
  writeVertices(json);
}

void SceneTileEncoder::finishCells() {
  file_.clear();
  for (const uint64_t count : {counted_, withoutHeight_, withoutArea_, unreadable_}) {
    const auto number = static_cast<double>(count);
    file_.append(&number, sizeof number);
  }
  cells_.finish(file_);
}

const uint8_t* SceneTileEncoder::finish(size_t& size) {
  if (countsCells()) {
    finishCells();
    size = file_.size();
    return file_.data();
  }
  ByteBuffer json;
  appendText(json, "\"asset\":{\"version\":\"2.0\",\"generator\":\"Graticule\",\"extras\":{\"features\":");
  appendInteger(json, static_cast<int64_t>(properties_.features()));
  appendCount(json, "withoutHeight", withoutHeight_);
  appendCount(json, "withoutArea", withoutArea_);
  appendCount(json, "unreadable", unreadable_);
  appendCount(json, "crossedRings", builder_->crossed());
  appendText(json, "}}");
  if (properties_.features() != 0) {
    ByteBuffer metadata;
    const bool hasProperties = properties_.finish(glb_, metadata);
    appendText(json, ",\"extensionsUsed\":[\"EXT_mesh_features\",");
    if (hasProperties) appendText(json, "\"EXT_structural_metadata\",");
    appendText(json, "\"KHR_mesh_quantization\"],\"extensionsRequired\":[\"KHR_mesh_quantization\"]");
    if (hasProperties) {
      appendText(json, ",\"extensions\":{");
      json.append(metadata.data(), metadata.size());
      json.push('}');
    }
    writeMesh(json, hasProperties);
  }
  glb_.finish({reinterpret_cast<const char*>(json.data()), json.size()}, file_);
  size = file_.size();
  return file_.data();
}

void SceneTileEncoder::release() {
  reprojector_.reset();
  glb_.clear();
  glb_.bytes().shrink(kKeptMemory);
  file_.shrink(kKeptMemory);
  mesh_ = {};
  properties_.begin({});
  cells_.begin(0);
  geometry_.clear();
}

}  // namespace graticule
