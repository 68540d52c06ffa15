#include "mvt_layer.h"

#include "../bytes.h"
#include "../varint.h"

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

/** Reads one field; null when the message is broken. */
const uint8_t* readField(const uint8_t* p, const uint8_t* end, Field& field) {
  uint64_t key = 0;
  if ((p = getVarint(p, end, key)) == nullptr || key > UINT32_MAX) return nullptr;
  field.number = static_cast<uint32_t>(key >> 3);
  field.wire = static_cast<uint32_t>(key & 7);
  if (field.wire == 0) return getVarint(p, end, field.value);
  uint64_t size = 0;
  if (field.wire == 2) {
    if ((p = getVarint(p, end, size)) == nullptr) return nullptr;
  } else if (field.wire == 1) {
    size = 8;
  } else if (field.wire == 5) {
    size = 4;
  } else {
    return nullptr;
  }
  if (size > static_cast<uint64_t>(end - p)) return nullptr;
  field.bytes = {p, p + size};
  return p + size;
}

std::string_view textOf(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.begin), bytes.size()};
}

constexpr int64_t unzigzag(uint64_t v) { return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1); }

bool takeValue(const Field& field, MvtValue& value) {
  using Kind = MvtValue::Kind;
  const uint32_t wire = field.number == kText ? 2 : field.number == kFloat ? 5 : field.number == kDouble ? 1 : 0;
  if (field.number < kText || field.number > kBool) return true;
  if (field.wire != wire) return false;
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
  return true;
}

bool readValue(const Bytes& message, MvtValue& value) {
  Field field;
  for (const uint8_t* p = message.begin; p != message.end;) {
    if ((p = readField(p, message.end, field)) == nullptr || !takeValue(field, value)) return false;
  }
  return true;
}

bool readFeature(const Bytes& message, MvtFeature& feature) {
  Field field;
  for (const uint8_t* p = message.begin; p != message.end;) {
    if ((p = readField(p, message.end, field)) == nullptr) return false;
    const bool packed = field.number == kFeatureTags || field.number == kFeatureGeometry;
    if (field.number <= kFeatureGeometry && field.wire != (packed ? 2u : 0u)) return false;
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
  return true;
}

bool takeOfLayer(const Field& field, MvtLayer& layer) {
  if (field.number == kLayerExtent) {
    if (field.wire != 0 || field.value == 0 || field.value > UINT32_MAX) return false;
    layer.extent = static_cast<uint32_t>(field.value);
    return true;
  }
  if (field.number < kLayerName || field.number > kLayerValues) return true;
  if (field.wire != 2) return false;
  switch (field.number) {
    case kLayerName:
      layer.name = textOf(field.bytes);
      return true;
    case kLayerFeatures:
      return readFeature(field.bytes, layer.features.emplace_back());
    case kLayerKeys:
      layer.keys.push_back(textOf(field.bytes));
      return true;
    default:
      return readValue(field.bytes, layer.values.emplace_back());
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

bool readMvtLayer(const uint8_t*& p, const uint8_t* end, MvtLayer& layer) {
  layer.clear();
  Field field;
  if ((p = readField(p, end, field)) == nullptr || field.number != kTileLayers || field.wire != 2) return false;
  const Bytes message = field.bytes;
  for (const uint8_t* q = message.begin; q != message.end;) {
    if ((q = readField(q, message.end, field)) == nullptr || !takeOfLayer(field, layer)) return false;
  }
  return true;
}

}  // namespace graticule::mlt
