#include "esri_pbf.h"

#include <cmath>
#include <cstring>

#include "../values/instant.h"
#include "json.h"
#include "../values/text.h"
#include "../values/varint.h"
#include "../geometry/wkb.h"

namespace graticule {
namespace {

/** Keys of FeatureResult. */
constexpr uint8_t kFeatures = lengthDelimited(15);
/** Keys of Feature. */
constexpr uint8_t kAttributes = lengthDelimited(1);
constexpr uint8_t kGeometry = lengthDelimited(2);
constexpr uint8_t kCentroid = lengthDelimited(4);
/** Keys of Value. */
constexpr uint8_t kStringValue = lengthDelimited(1);
constexpr uint8_t kDoubleValue = 3 << 3 | 1;
constexpr uint8_t kSint64Value = varintField(8);
/** Keys of Geometry. */
constexpr uint8_t kLengths = lengthDelimited(2);
constexpr uint8_t kCoords = lengthDelimited(3);

void appendVarint(ByteBuffer& out, uint64_t value) { out.commit(putVarint64(out.reserve(kMaxVarint64), value)); }

/** Appends a length-delimited member from existing bytes. */
void appendBytes(ByteBuffer& out, uint8_t key, const ByteBuffer& bytes) {
  out.push(key);
  appendVarint(out, bytes.size());
  out.append(bytes.data(), bytes.size());
}

}  // namespace

void EsriPbfFeatureWriter::begin(const FeatureOptions& options, std::shared_ptr<const Reprojector> reprojector) {
  beginPage(options, std::move(reprojector));
  quantiser_.begin(options, reprojector_.get());
  thinner_.begin(options.tolerance, reprojector_.get());
  hasGeometry_ = !options.skipGeometry;
  hasCentroid_ = options.centroid;
  z_ = options.z;
  out_.clear();
}

void EsriPbfFeatureWriter::beginFeature(const Value& id, const uint8_t* blob, size_t size) {
  feature_.clear();
  if (int64_t number = 0; readIntegerId(id, number)) {
    putInteger(number);
  } else {
    feature_.appendLiteral("\x0a\0");
  }
  isRead_ = (hasGeometry_ || hasCentroid_) && readGeometry(blob, size) == GeometryState::Read;
}

void EsriPbfFeatureWriter::putInteger(int64_t value) {
  const uint64_t number = zigzag64(value);
  feature_.push(kAttributes);
  feature_.push(static_cast<uint8_t>(1 + varintSize(number)));
  feature_.push(kSint64Value);
  appendVarint(feature_, number);
}

void EsriPbfFeatureWriter::putDouble(double value) {
  feature_.push(kAttributes);
  if (!std::isfinite(value)) return feature_.push(0);
  feature_.push(1 + sizeof value);
  feature_.push(kDoubleValue);
  feature_.append(&value, sizeof value);
}

void EsriPbfFeatureWriter::putText(const char* text, size_t size) {
  const size_t length = sanitisedSize(text, size);
  feature_.push(kAttributes);
  appendVarint(feature_, 1 + varintSize(length) + length);
  feature_.push(kStringValue);
  appendVarint(feature_, length);
  appendSanitised(feature_, text, size);
}

void EsriPbfFeatureWriter::property(size_t field, const Value& value) {
  if (field >= types_.size()) return;
  const FieldType type = types_[field];
  int64_t instant = 0;
  double number = 0;
  switch (value.kind) {
    case Value::Kind::Null: return feature_.appendLiteral("\x0a\0");
    case Value::Kind::Real: return putDouble(value.real);
    case Value::Kind::Boolean: return putInteger(value.integer != 0);
    case Value::Kind::Integer:
      if (type == FieldType::Number) return putDouble(static_cast<double>(value.integer));
      return putInteger(type == FieldType::Boolean ? value.integer != 0 : value.integer);
    case Value::Kind::Blob:
      scratch_.clear();
      appendBase64(scratch_, reinterpret_cast<const uint8_t*>(value.bytes), value.size);
      return putText(reinterpret_cast<const char*>(scratch_.data()), scratch_.size());
    case Value::Kind::Text: break;
  }
  if (readTime(type, value, instant)) return putInteger(instant);
  if (type == FieldType::Number && isNumberText(value) && JsonReader(value.bytes, value.size).readNumber(number)) {
    return putDouble(number);
  }
  putText(value.bytes, value.size);
}

/** Writes the last quantised geometry as a member of the feature. */
void EsriPbfFeatureWriter::putGeometry(uint8_t key, bool hasLengths) {
  const std::vector<int64_t>& numbers = quantiser_.numbers();
  scratch_.clear();
  uint8_t* p = scratch_.reserve(numbers.size() * kMaxVarint64);
  for (const int64_t number : numbers) p = putVarint64(p, zigzag64(number));
  scratch_.commit(p);
  size_t size = 1 + varintSize(scratch_.size()) + scratch_.size();
  size_t lengthsSize = 0;
  if (hasLengths) {
    for (const uint32_t length : quantiser_.lengths()) lengthsSize += varintSize(length);
    size += 1 + varintSize(lengthsSize) + lengthsSize;
  }
  feature_.push(key);
  appendVarint(feature_, size);
  if (hasLengths) {
    feature_.push(kLengths);
    appendVarint(feature_, lengthsSize);
    for (const uint32_t length : quantiser_.lengths()) appendVarint(feature_, length);
  }
  appendBytes(feature_, kCoords, scratch_);
}

void EsriPbfFeatureWriter::endFeature() {
  if (isRead_ && hasGeometry_ && quantiser_.quantise(thinner_.thin(geometry_), z_)) {
    // A point consists only of its position.
    putGeometry(kGeometry, geometry_.nodes[0].type != GeometryType::Point);
  }
  if (isRead_ && hasCentroid_ && quantiser_.quantiseCentroid(geometry_)) putGeometry(kCentroid, false);
  appendBytes(out_, kFeatures, feature_);
}

void EsriPbfFeatureWriter::release() {
  quantiser_.begin({}, nullptr);
  thinner_.release();
  feature_.shrink(kKeptMemory);
  scratch_.shrink(kKeptMemory);
  releasePage();
}

}  // namespace graticule
