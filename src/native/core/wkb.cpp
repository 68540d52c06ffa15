#include "wkb.h"

#include <cmath>

namespace graticule {
namespace {

constexpr int kMaxDepth = 32;
/** Byte order and type: the least that any member geometry takes. */
constexpr size_t kMinGeometrySize = 5;

constexpr uint32_t kEwkbZ = 0x80000000u;
constexpr uint32_t kEwkbM = 0x40000000u;
constexpr uint32_t kEwkbSrid = 0x20000000u;

class WkbReader {
 public:
  WkbReader(const uint8_t* begin, size_t size, Geometry& out)
      : p_(begin), end_(begin + size), size_(size), out_(out) {}

  ReadStatus geometry(int depth, GeometryType* container) {
    if (left() < kMinGeometrySize) return ReadStatus::Truncated;
    const uint8_t order = *p_++;
    if (order > 1) return ReadStatus::BadByteOrder;
    bigEndian_ = order == 0;
    Shape shape;
    if (const ReadStatus s = type(shape); s != ReadStatus::Ok) return s;
    if (container != nullptr && !mayContain(*container, shape.type)) return ReadStatus::BadMember;
    switch (shape.type) {
      case GeometryType::Point: return point(shape);
      case GeometryType::LineString: return line(shape);
      case GeometryType::Polygon: return polygon(shape);
      default: return members(shape, depth);
    }
  }

 private:
  struct Shape {
    GeometryType type;
    uint8_t stride;
    bool hasZ;
  };

  size_t left() const { return static_cast<size_t>(end_ - p_); }

  uint32_t u32() {
    const auto value = loadNative<uint32_t>(p_);
    p_ += 4;
    return bigEndian_ ? __builtin_bswap32(value) : value;
  }

  static bool mayContain(GeometryType container, GeometryType member) {
    switch (container) {
      case GeometryType::MultiPoint: return member == GeometryType::Point;
      case GeometryType::MultiLineString: return member == GeometryType::LineString;
      case GeometryType::MultiPolygon: return member == GeometryType::Polygon;
      default: return true;
    }
  }

  ReadStatus type(Shape& shape) {
    uint32_t code = u32();
    bool z = (code & kEwkbZ) != 0;
    bool m = (code & kEwkbM) != 0;
    if ((code & kEwkbSrid) != 0) {
      if (left() < 4) return ReadStatus::Truncated;
      p_ += 4;
    }
    code &= ~(kEwkbZ | kEwkbM | kEwkbSrid);
    if (code >= 4000) return ReadStatus::UnknownType;
    const uint32_t dimension = code / 1000;
    code %= 1000;
    z |= dimension == 1 || dimension == 3;
    m |= dimension == 2 || dimension == 3;
    if (code < 1 || code > 17) return ReadStatus::UnknownType;
    if (code > 7) return ReadStatus::UnsupportedType;
    shape = {static_cast<GeometryType>(code), static_cast<uint8_t>(16 + 8 * z + 8 * m), z};
    return ReadStatus::Ok;
  }

  /** Takes `count` positions as one sequence. The caller has checked that they are there. */
  void take(uint32_t count, const Shape& shape) {
    const size_t bytes = size_t{count} * shape.stride;
    const uint8_t* data = bigEndian_ ? swap(bytes) : p_;
    out_.sequences.push_back({data, count, shape.stride, shape.hasZ});
    p_ += bytes;
  }

  /** Swapped coordinates keep the offsets they have in the blob, so one block serves the whole geometry. */
  const uint8_t* swap(size_t bytes) {
    if (out_.swapped == nullptr) out_.swapped.reset(new uint8_t[size_]);
    uint8_t* target = out_.swapped.get() + (size_ - left());
    for (size_t i = 0; i < bytes; i += 8) {
      const uint64_t v = __builtin_bswap64(loadNative<uint64_t>(p_ + i));
      std::memcpy(target + i, &v, 8);
    }
    return target;
  }

  Node& open(const Shape& shape) {
    out_.nodes.push_back({shape.type, 0, static_cast<uint32_t>(out_.sequences.size()), 0});
    return out_.nodes.back();
  }

  ReadStatus point(const Shape& shape) {
    if (left() < shape.stride) return ReadStatus::Truncated;
    Node& node = open(shape);
    take(1, shape);
    const Sequence& s = out_.sequences.back();
    if (std::isnan(s.x(0)) || std::isnan(s.y(0))) {
      out_.sequences.pop_back();
    } else {
      node.sequences = 1;
    }
    return ReadStatus::Ok;
  }

  /** A position count and its positions. */
  ReadStatus positions(const Shape& shape) {
    if (left() < 4) return ReadStatus::Truncated;
    const uint32_t count = u32();
    if (count > left() / shape.stride) return ReadStatus::Truncated;
    take(count, shape);
    return ReadStatus::Ok;
  }

  ReadStatus line(const Shape& shape) {
    open(shape).sequences = 1;
    return positions(shape);
  }

  ReadStatus polygon(const Shape& shape) {
    if (left() < 4) return ReadStatus::Truncated;
    const uint32_t rings = u32();
    if (rings > left() / 4) return ReadStatus::Truncated;
    open(shape).sequences = rings;
    for (uint32_t i = 0; i < rings; ++i) {
      if (const ReadStatus s = positions(shape); s != ReadStatus::Ok) return s;
    }
    return ReadStatus::Ok;
  }

  ReadStatus members(const Shape& shape, int depth) {
    if (depth >= kMaxDepth) return ReadStatus::TooDeep;
    if (left() < 4) return ReadStatus::Truncated;
    const uint32_t count = u32();
    if (count > left() / kMinGeometrySize) return ReadStatus::Truncated;
    open(shape).members = count;
    GeometryType container = shape.type;
    for (uint32_t i = 0; i < count; ++i) {
      if (const ReadStatus s = geometry(depth + 1, &container); s != ReadStatus::Ok) return s;
    }
    return ReadStatus::Ok;
  }

  const uint8_t* p_;
  const uint8_t* end_;
  size_t size_;
  Geometry& out_;
  bool bigEndian_ = false;
};

double loadDouble(const uint8_t* p, bool bigEndian) {
  auto bits = loadNative<uint64_t>(p);
  if (bigEndian) bits = __builtin_bswap64(bits);
  double value;
  std::memcpy(&value, &bits, 8);
  return value;
}

}  // namespace

const char* describe(ReadStatus status) {
  switch (status) {
    case ReadStatus::Ok: return nullptr;
    case ReadStatus::Truncated: return "the geometry ends before its counts say";
    case ReadStatus::BadByteOrder: return "the byte order mark is neither 0 nor 1";
    case ReadStatus::UnknownType: return "the geometry type is unknown";
    case ReadStatus::UnsupportedType: return "curves, surfaces and triangles are not supported";
    case ReadStatus::BadMember: return "a multi geometry has a member of another type";
    case ReadStatus::TooDeep: return "collections are nested more than 32 deep";
    case ReadStatus::BadMagic: return "the blob is neither a GeoPackage geometry nor WKB";
    case ReadStatus::BadVersion: return "the GeoPackage geometry has an unknown version";
    case ReadStatus::BadEnvelope: return "the GeoPackage header has an unknown envelope kind";
    case ReadStatus::ExtendedType: return "extended GeoPackage geometries are not supported";
  }
  return "unknown";
}

ReadStatus readHeader(const uint8_t* blob, size_t size, BlobHeader& header) {
  header = {};
  if (size < kMinGeometrySize) return ReadStatus::Truncated;
  if (blob[0] != 'G' || blob[1] != 'P') return blob[0] <= 1 ? ReadStatus::Ok : ReadStatus::BadMagic;
  if (size < 8) return ReadStatus::Truncated;
  if (blob[2] != 0) return ReadStatus::BadVersion;
  const uint8_t flags = blob[3];
  const bool bigEndian = (flags & 1) == 0;
  const unsigned kind = (flags >> 1) & 7;
  if ((flags & 0x20) != 0) return ReadStatus::ExtendedType;
  if (kind > 4) return ReadStatus::BadEnvelope;
  constexpr size_t kEnvelopeSize[] = {0, 32, 48, 48, 64};
  header.wkbOffset = 8 + kEnvelopeSize[kind];
  if (size < header.wkbOffset + kMinGeometrySize) return ReadStatus::Truncated;
  header.empty = (flags & 0x10) != 0;
  const auto srs = loadNative<uint32_t>(blob + 4);
  header.srsId = static_cast<int32_t>(bigEndian ? __builtin_bswap32(srs) : srs);
  if (kind != 0 && !header.empty) {
    // The header orders minx, maxx, miny, maxy.
    Box& e = header.envelope;
    e.minX = loadDouble(blob + 8, bigEndian);
    e.maxX = loadDouble(blob + 16, bigEndian);
    e.minY = loadDouble(blob + 24, bigEndian);
    e.maxY = loadDouble(blob + 32, bigEndian);
    header.hasEnvelope = e.valid();
  }
  return ReadStatus::Ok;
}

ReadStatus readWkb(const uint8_t* wkb, size_t size, Geometry& geometry) {
  geometry.clear();
  return WkbReader(wkb, size, geometry).geometry(0, nullptr);
}

ReadStatus readBlob(const uint8_t* blob, size_t size, BlobHeader& header, Geometry& geometry) {
  if (const ReadStatus s = readHeader(blob, size, header); s != ReadStatus::Ok) return s;
  return readWkb(blob + header.wkbOffset, size - header.wkbOffset, geometry);
}

ReadStatus readEnvelope(const uint8_t* blob, size_t size, Geometry& scratch, Box& box) {
  BlobHeader header;
  if (const ReadStatus s = readHeader(blob, size, header); s != ReadStatus::Ok) return s;
  if (header.hasEnvelope) {
    box = header.envelope;
    return ReadStatus::Ok;
  }
  const ReadStatus s = readWkb(blob + header.wkbOffset, size - header.wkbOffset, scratch);
  if (s == ReadStatus::Ok) box = envelopeOf(scratch);
  return s;
}

Box envelopeOf(const Geometry& geometry) {
  Box box;
  for (const Sequence& s : geometry.sequences) {
    for (size_t i = 0; i < s.count; ++i) {
      const double x = s.x(i);
      const double y = s.y(i);
      if (!std::isnan(x) && !std::isnan(y)) box.add(x, y);
    }
  }
  return box;
}

}  // namespace graticule
