// Code that the writers of features share: options, and positions for the output.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "../geometry/geometry.h"
#include "json.h"
#include "../values/number.h"
#include "../geometry/reprojector.h"
#include "../values/value.h"

namespace graticule {

/** Format of coordinates. */
struct CoordinateFormat {
  /** Decimal places, 0 to 15. */
  int precision = 7;
  /** Write y,x: for CRS that are defined northing or latitude first. */
  bool swap = false;
};

struct FeatureOptions {
  struct Field {
    std::string name;
    FieldType type = FieldType::Any;
  };
  /** For GML the names are XML names (NCName). */
  std::vector<Field> fields;
  /** CRS of the data and of the output: anything PROJ reads. */
  std::string from = "OGC:CRS84";
  std::string to = "OGC:CRS84";
  CoordinateFormat format;
  /** A page takes no more features once its text has this size; 0: no bound. */
  uint64_t maxBytes = 0;
  /** GML only: XML names of the feature and geometry elements, and the srsName of geometries. */
  std::string type;
  std::string geometry = "geometry";
  std::string srsName;
  /** GeoServices only: the name of the id, whether geometries are omitted, and whether they keep Z. */
  std::string id = "objectid";
  bool skipGeometry = false;
  /** GeoJSON only: the first property, which repeats the id. Empty: no such property. */
  std::string idProperty;
  /** CSV only: text that spreadsheets would interpret as a formula gets an apostrophe in front. */
  bool guardsFormulas = false;
  /**
   * GeoJSON and GeoServices: maximum distance, in units of `to`, of dropped positions of lines and rings from the
   * remaining ones.
   */
  double tolerance = 0;
  bool z = false;
  /** GeoJSON only: whether features have a member `loss` with the losses of their geometry since the store. */
  bool loss = false;
  /** GeoServices only: each feature also has its centroid. */
  bool centroid = false;
  /** Centroids only: whether positions of `from` are longitudes and latitudes in degrees. */
  bool degrees = false;
  /** GeoServices only: conversion of positions to integers. */
  struct Quantisation {
    bool on = false;
    /** Position that numbers are counted from, in the target CRS. */
    double x = 0;
    double y = 0;
    /** Units of the CRS, and of heights, in a step. */
    double scale = 1e-7;
    double zScale = 1e-4;
    /** y is counted to the south. */
    bool upperLeft = false;
    /** Whether positions equal to the previous one, and invisible parts, are omitted. */
    bool view = false;
  };
  Quantisation quantisation;
};

/** Twice the signed area of `n` corners, relative to the first one so that large coordinates cancel; positive: ccw. */
inline double doubleArea(const double* xy, size_t n) {
  double sum = 0;
  for (size_t i = 1; i + 1 < n; ++i) {
    sum += (xy[2 * i] - xy[0]) * (xy[2 * i + 3] - xy[1]) - (xy[2 * i + 2] - xy[0]) * (xy[2 * i + 1] - xy[1]);
  }
  return sum;
}

/** Whether a text is a JSON number. Numbers that are too precise for a double arrive as text. */
inline bool isNumberText(const Value& value) {
  if (value.size == 0) return false;
  const char first = value.bytes[0];
  return (first == '-' || (first >= '0' && first <= '9')) && isJson(value.bytes, value.size);
}

inline void appendInteger(ByteBuffer& out, int64_t value) { out.commit(putInteger(out.reserve(kMaxNumberSize), value)); }

/** The positions of one sequence at a time, reprojected, ready to be written. */
class OutputPositions {
 public:
  /** The reprojector must outlive the use of this; null: none is needed. */
  void begin(const CoordinateFormat& format, const Reprojector* reprojector) {
    format_ = format;
    reprojector_ = reprojector != nullptr && reprojector->identity() ? nullptr : reprojector;
  }

  /** Loads a sequence. Returns false if a position is not finite or cannot be projected. */
  bool load(const Sequence& s) {
    sequence_ = &s;
    if (xy_.size() < size_t{s.count} * 2) xy_.resize(size_t{s.count} * 2);
    double* xy = xy_.data();
    for (size_t i = 0; i < s.count; ++i) std::memcpy(xy + 2 * i, s.data + i * s.stride, 16);
    if (reprojector_ != nullptr) reprojector_->transform(xy, s.count);
    bool finite = true;
    for (size_t i = 0; i < size_t{s.count} * 2; ++i) finite &= std::isfinite(xy[i]);
    return finite;
  }

  /** Appends position `i` with spaces between ordinates; with `z`, 0 where it is missing. */
  void append(size_t i, bool z, ByteBuffer& out) const {
    uint8_t* p = out.reserve(3 * kMaxFixedSize + 2);
    p = putFixed(p, xy_[2 * i + format_.swap], format_.precision);
    *p++ = ' ';
    p = putFixed(p, xy_[2 * i + !format_.swap], format_.precision);
    if (z) {
      *p++ = ' ';
      p = putFixed(p, height(i), format_.precision);
    }
    out.commit(p);
  }

  /** Appends position `i` as a JSON array. */
  void appendArray(size_t i, bool z, ByteBuffer& out) const { appendJson(i, z, {"[", ",", ",", "]"}, out); }

  /** Appends position `i` as members of a JSON object. */
  void appendMembers(size_t i, bool z, ByteBuffer& out) const {
    appendJson(i, z, {"\"x\":", ",\"y\":", ",\"z\":", ""}, out);
  }

  /** Number of positions without the position that closes a ring. */
  size_t corners() const {
    const size_t n = sequence_->count;
    return xy_[0] == xy_[2 * n - 2] && xy_[1] == xy_[2 * n - 1] ? n - 1 : n;
  }

  double x(size_t i) const { return xy_[2 * i]; }
  double y(size_t i) const { return xy_[2 * i + 1]; }
  /** 0 where there is none. */
  double height(size_t i) const {
    const double height = sequence_->hasZ ? sequence_->z(i) : 0;
    return std::isfinite(height) ? height : 0;
  }

  /** Twice the signed area of `n` corners; positive: counterclockwise. */
  double doubleArea(size_t n) const { return graticule::doubleArea(xy_.data(), n); }

 private:
  struct Brackets {
    std::string_view x, y, z, end;
  };

  void appendJson(size_t i, bool z, const Brackets& brackets, ByteBuffer& out) const {
    uint8_t* p = out.reserve(3 * kMaxFixedSize + 32);
    const auto put = [&p](std::string_view text) {
      std::memcpy(p, text.data(), text.size());
      p += text.size();
    };
    put(brackets.x);
    p = putFixed(p, xy_[2 * i + format_.swap], format_.precision);
    put(brackets.y);
    p = putFixed(p, xy_[2 * i + !format_.swap], format_.precision);
    if (z) {
      put(brackets.z);
      p = putFixed(p, height(i), format_.precision);
    }
    put(brackets.end);
    out.commit(p);
  }

  CoordinateFormat format_;
  const Reprojector* reprojector_ = nullptr;
  const Sequence* sequence_ = nullptr;
  std::vector<double> xy_;
};

/** True when any position has a z. */
inline bool hasZ(const Geometry& geometry) {
  for (const Sequence& s : geometry.sequences) {
    if (s.hasZ) return true;
  }
  return false;
}

}  // namespace graticule
