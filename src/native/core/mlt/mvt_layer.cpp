#include "mvt_layer.h"

#include "../values/bytes.h"
#include "../values/varint.h"
#include "failures.h"

namespace graticule::mlt {
namespace {

constexpr uint32_t kTileLayers = 3;
constexpr uint32_t kLayerName = 1, kLayerFeatures = 2, kLayerKeys = 3, kLayerValues = 4, kLayerExtent = 5;
constexpr uint32_t kFeatureId = 1, kFeatureTags = 2, kFeatureType = 3, kFeatureGeometry = 4;
constexpr uint32_t kText = 1, kFloat = 2, kDouble = 3, kInt = 4, kUint = 5, kSint = 6, kBool = 7;

/** One field of a message: a number, or bytes. */
struct Field {
  uint32_t number = 0;
  uint32_t wire = 0;
  uint64_t value = 0;
  Bytes bytes;
};

constexpr Broken kNoTile{"no vector tile"};

const uint8_t* requireVarint(const uint8_t* p, const uint8_t* end, uint64_t& value) {
  p = getVarint(p, end, value);
  if (p == nullptr) throw kNoTile;
  return p;
}

/** Reads one field. */
const uint8_t* readField(const uint8_t* p, const uint8_t* end, Field& field) {
  uint64_t key = 0;
  p = requireVarint(p, end, key);
  if (key > UINT32_MAX) throw kNoTile;
  field.number = static_cast<uint32_t>(key >> 3);
  field.wire = static_cast<uint32_t>(key & 7);
  uint64_t size = 0;
  switch (field.wire) {
    case 0: return requireVarint(p, end, field.value);
    case 1: size = 8; break;
    case 2: p = requireVarint(p, end, size); break;
    case 5: size = 4; break;
    default: throw kNoTile;
  }
  if (size > static_cast<uint64_t>(end - p)) throw kNoTile;
  field.bytes = {p, p + size};
  return p + size;
}

void require(bool condition) {
  if (!condition) throw kNoTile;
}

std::string_view textOf(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.begin), bytes.size()};
}

constexpr int64_t unzigzag(uint64_t v) { return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1); }

void takeValue(const Field& field, MvtValue& value) {
  using Kind = MvtValue::Kind;
  const uint32_t wire = field.number == kText ? 2 : field.number == kFloat ? 5 : field.number == kDouble ? 1 : 0;
  if (field.number < kText || field.number > kBool) return;
  require(field.wire == wire);
  switch (field.number) {
    case kText:
      value.kind = Kind::Text;
      value.text = textOf(field.bytes);
      break;
    case kFloat:
      value.kind = Kind::Real;
      value.real = static_cast<double>(loadNative<float>(field.bytes.begin));
      break;
    case kDouble:
      value.kind = Kind::Real;
      value.real = loadNative<double>(field.bytes.begin);
      break;
    case kSint:
      value.kind = Kind::Integer;
      value.integer = unzigzag(field.value);
      break;
    case kBool:
      value.kind = Kind::Boolean;
      value.integer = field.value != 0;
      break;
    default:
      value.kind = field.number == kUint ? Kind::Unsigned : Kind::Integer;
      value.integer = static_cast<int64_t>(field.value);
  }
}

MvtValue readValue(const Bytes& message) {
  MvtValue value;
  Field field;
  for (const uint8_t* p = message.begin; p != message.end;) {
    p = readField(p, message.end, field);
    takeValue(field, value);
  }
  return value;
}

MvtFeature readFeature(const Bytes& message) {
  MvtFeature feature;
  Field field;
  for (const uint8_t* p = message.begin; p != message.end;) {
    p = readField(p, message.end, field);
    const bool packed = field.number == kFeatureTags || field.number == kFeatureGeometry;
    require(field.number > kFeatureGeometry || field.wire == (packed ? 2u : 0u));
    if (field.number == kFeatureId) {
      feature.hasId = true;
      feature.id = field.value;
    } else if (field.number == kFeatureTags) {
      feature.tags = field.bytes;
    } else if (field.number == kFeatureType && field.value <= 3) {
      feature.type = static_cast<MvtType>(field.value);
    } else if (field.number == kFeatureGeometry) {
      feature.geometry = field.bytes;
    }
  }
  return feature;
}

void takeFeature(const Bytes& message, MvtLayer& layer) {
  const MvtFeature feature = readFeature(message);
  if (feature.type == MvtType::Unknown || feature.geometry.size() == 0) return;
  if (layer.features.size() == kMostFeatures) throw TooLarge();
  layer.features.push_back(feature);
}

void takeOfLayer(const Field& field, MvtLayer& layer) {
  if (field.number == kLayerExtent) {
    require(field.wire == 0 && field.value != 0 && field.value <= UINT32_MAX);
    layer.extent = static_cast<uint32_t>(field.value);
    return;
  }
  if (field.number < kLayerName || field.number > kLayerValues) return;
  require(field.wire == 2);
  if (field.number == kLayerName) layer.name = textOf(field.bytes);
  if (field.number == kLayerFeatures) takeFeature(field.bytes, layer);
  if (field.number == kLayerKeys) {
    if (layer.keys.size() == kMostColumns) throw TooLarge();
    layer.keys.push_back(textOf(field.bytes));
  }
  if (field.number == kLayerValues) {
    if (layer.values.size() == kMostValues) throw TooLarge();
    layer.values.push_back(readValue(field.bytes));
  }
}

}  // namespace

void MvtLayer::clear() {
  name = {};
  extent = 4096;
  keys.clear();
  values.clear();
  features.clear();
}

void readMvtLayer(const uint8_t*& p, const uint8_t* end, MvtLayer& layer) {
  layer.clear();
  Field field;
  p = readField(p, end, field);
  require(field.number == kTileLayers && field.wire == 2);
  const Bytes message = field.bytes;
  for (const uint8_t* q = message.begin; q != message.end;) {
    q = readField(q, message.end, field);
    takeOfLayer(field, layer);
  }
}

}  // namespace graticule::mlt
