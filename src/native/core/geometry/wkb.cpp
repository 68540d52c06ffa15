#include "wkb.h"

#include <algorithm>
#include <cmath>

#include "arcs.h"

namespace graticule {
namespace {

constexpr int kMaxDepth = 32;
/** Byte order and type: the least that any member geometry takes. */
constexpr size_t kMinGeometrySize = 5;

constexpr uint32_t kEwkbZ = 0x80000000u;
constexpr uint32_t kEwkbM = 0x40000000u;
constexpr uint32_t kEwkbSrid = 0x20000000u;

/** Positions that the curves of one geometry become: arcs of few bytes become many. */
constexpr size_t kMaxLinearised = 1u << 22;

/** Type codes of WKB that GeometryType does not contain (OGC 06-103r4, table 7). */
enum CurveCode : uint32_t {
  kCircularString = 8,
  kCompoundCurve = 9,
  kCurvePolygon = 10,
  kMultiCurve = 11,
  kMultiSurface = 12,
  kPolyhedralSurface = 15,
  kTin = 16,
  kTriangle = 17,
};

/** The simple type that a geometry is read as; 0 for codes of no type. */
uint32_t simpleCode(uint32_t code) {
  switch (code) {
    case kCircularString:
    case kCompoundCurve: return 2;
    case kCurvePolygon:
    case kTriangle: return 3;
    case kMultiCurve: return 5;
    case kMultiSurface:
    case kPolyhedralSurface:
    case kTin: return 6;
    default: return code >= 1 && code <= 7 ? code : 0;
  }
}

bool isCurve(uint32_t code) { return code == 2 || code == kCircularString || code == kCompoundCurve; }

bool mayContain(uint32_t container, uint32_t member) {
  switch (container) {
    case 4: return member == 1;
    case 5: return member == 2;
    case 6: return member == 3;
    case kCompoundCurve: return member == 2 || member == kCircularString;
    case kCurvePolygon:
    case kMultiCurve: return isCurve(member);
    case kMultiSurface: return member == 3 || member == kCurvePolygon;
    case kPolyhedralSurface:
    case kTin: return member == 3 || member == kTriangle;
    default: return true;
  }
}

double loadDouble(const uint8_t* p, bool bigEndian) {
  auto bits = loadNative<uint64_t>(p);
  if (bigEndian) bits = __builtin_bswap64(bits);
  double value;
  std::memcpy(&value, &bits, 8);
  return value;
}

class WkbReader {
 public:
  WkbReader(const uint8_t* begin, size_t size, Geometry& out)
      : p_(begin), end_(begin + size), size_(size), out_(out) {}

  /** `container` is the type code of the geometry around it; 0 where there is none. */
  ReadStatus geometry(int depth, uint32_t container) {
    Shape shape;
    if (const ReadStatus s = head(container, shape); s != ReadStatus::Ok) return s;
    switch (shape.code) {
      case 1: return point(shape);
      case 2: return line(shape);
      case 3: return polygon(shape);
      case kTriangle: out_.lost |= kLostSurface; return polygon(shape);
      case kCircularString:
      case kCompoundCurve: return curve(shape);
      case kCurvePolygon: return curvePolygon(shape);
      case kPolyhedralSurface:
      case kTin: out_.lost |= kLostSurface; return members(shape, depth);
      default: return members(shape, depth);
    }
  }

 private:
  struct Shape {
    uint32_t code;
    GeometryType type;
    uint8_t stride;
    bool hasZ;

    size_t ordinates() const { return stride / 8; }
  };

  /** Byte order and type of a geometry. */
  ReadStatus head(uint32_t container, Shape& shape) {
    if (left() < kMinGeometrySize) return ReadStatus::Truncated;
    const uint8_t order = *p_++;
    if (order > 1) return ReadStatus::BadByteOrder;
    bigEndian_ = order == 0;
    if (const ReadStatus s = type(shape); s != ReadStatus::Ok) return s;
    return mayContain(container, shape.code) ? ReadStatus::Ok : ReadStatus::BadMember;
  }

  size_t left() const { return static_cast<size_t>(end_ - p_); }

  uint32_t u32() {
    const auto value = loadNative<uint32_t>(p_);
    p_ += 4;
    return bigEndian_ ? __builtin_bswap32(value) : value;
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
    const uint32_t simple = simpleCode(code);
    if (simple == 0) return ReadStatus::UnknownType;
    if (m) out_.lost |= kLostMeasures;
    shape = {code, static_cast<GeometryType>(simple), static_cast<uint8_t>(16 + 8 * z + 8 * m), z};
    return ReadStatus::Ok;
  }

  /** Reads `count` positions as one sequence. The caller has checked that enough bytes remain. */
  void take(uint32_t count, const Shape& shape) {
    const size_t bytes = size_t{count} * shape.stride;
    const uint8_t* data = bigEndian_ ? swap(bytes) : p_;
    out_.sequences.push_back({data, count, shape.stride, shape.hasZ});
    p_ += bytes;
  }

  /** Swapped coordinates have the same offsets as in the blob, so one block serves the complete geometry. */
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
    for (uint32_t i = 0; i < count; ++i) {
      if (const ReadStatus s = geometry(depth + 1, shape.code); s != ReadStatus::Ok) return s;
    }
    return ReadStatus::Ok;
  }

  ReadStatus curve(const Shape& shape) {
    open(shape).sequences = 1;
    std::vector<double> line;
    const ReadStatus s = linearise(shape, line);
    if (s == ReadStatus::Ok) keep(line, shape);
    return s;
  }

  /** Reads a polygon whose rings are curves, each with a separate header. */
  ReadStatus curvePolygon(const Shape& shape) {
    if (left() < 4) return ReadStatus::Truncated;
    const uint32_t rings = u32();
    if (rings > left() / kMinGeometrySize) return ReadStatus::Truncated;
    open(shape).sequences = rings;
    for (uint32_t i = 0; i < rings; ++i) {
      Shape ring;
      if (const ReadStatus s = head(shape.code, ring); s != ReadStatus::Ok) return s;
      std::vector<double> line;
      const ReadStatus s = ring.code == 2 ? positions(ring) : linearise(ring, line);
      if (s != ReadStatus::Ok) return s;
      if (ring.code != 2) keep(line, ring);
    }
    return ReadStatus::Ok;
  }

  /** Appends the positions of a circular string or a compound curve whose head was read. */
  ReadStatus linearise(const Shape& shape, std::vector<double>& line) {
    if (shape.code == kCircularString) return arcs(shape, line);
    if (left() < 4) return ReadStatus::Truncated;
    const uint32_t count = u32();
    if (count > left() / kMinGeometrySize) return ReadStatus::Truncated;
    for (uint32_t i = 0; i < count; ++i) {
      Shape part;
      if (const ReadStatus s = head(shape.code, part); s != ReadStatus::Ok) return s;
      if (part.stride != shape.stride || part.hasZ != shape.hasZ) return ReadStatus::BadMember;
      if (const ReadStatus s = part.code == 2 ? straight(part, line) : arcs(part, line); s != ReadStatus::Ok) return s;
    }
    return ReadStatus::Ok;
  }

  /** Appends a position. Parts of a curve start at the end of the previous part, which is written once. */
  void join(const double* position, const Shape& shape, std::vector<double>& line) {
    const size_t n = shape.ordinates();
    const double* last = line.empty() ? nullptr : line.data() + line.size() - n;
    if (last == nullptr || last[0] != position[0] || last[1] != position[1]) {
      line.insert(line.end(), position, position + n);
    }
  }

  ReadStatus straight(const Shape& shape, std::vector<double>& line) {
    std::vector<double> all;
    if (const ReadStatus s = doubles(shape, all); s != ReadStatus::Ok || all.empty()) return s;
    const size_t n = shape.ordinates();
    join(all.data(), shape, line);
    line.insert(line.end(), all.begin() + static_cast<ptrdiff_t>(n), all.end());
    return countLinearised(all.size() / n);
  }

  /** Reads arcs of three positions each. Each arc starts at the end of the previous one. */
  ReadStatus arcs(const Shape& shape, std::vector<double>& line) {
    std::vector<double> all;
    if (const ReadStatus s = doubles(shape, all); s != ReadStatus::Ok || all.empty()) return s;
    const size_t n = shape.ordinates();
    const size_t count = all.size() / n;
    if (count % 2 == 0 || count < 3) return ReadStatus::BadArc;
    out_.lost |= kLostArcs;
    join(all.data(), shape, line);
    for (size_t i = 0; i + 2 < count; i += 2) {
      const double* at = all.data() + i * n;
      const size_t before = line.size();
      appendArc(line, at, at + n, at + 2 * n, n);
      if (const ReadStatus s = countLinearised((line.size() - before) / n); s != ReadStatus::Ok) return s;
    }
    return ReadStatus::Ok;
  }

  ReadStatus countLinearised(size_t positions) {
    linearised_ += positions;
    return linearised_ > kMaxLinearised ? ReadStatus::TooManyPositions : ReadStatus::Ok;
  }

  /** A position count, and the ordinates of its positions in native byte order. */
  ReadStatus doubles(const Shape& shape, std::vector<double>& all) {
    if (left() < 4) return ReadStatus::Truncated;
    const uint32_t count = u32();
    if (count > left() / shape.stride) return ReadStatus::Truncated;
    all.resize(count * shape.ordinates());
    for (double& value : all) {
      value = loadDouble(p_, bigEndian_);
      p_ += 8;
    }
    return ReadStatus::Ok;
  }

  void keep(const std::vector<double>& line, const Shape& shape) {
    out_.linearised.emplace_back(new double[line.size()]);
    double* data = out_.linearised.back().get();
    if (!line.empty()) std::memcpy(data, line.data(), line.size() * sizeof(double));
    const auto count = static_cast<uint32_t>(line.size() / shape.ordinates());
    out_.sequences.push_back({reinterpret_cast<const uint8_t*>(data), count, shape.stride, shape.hasZ});
  }

  const uint8_t* p_;
  const uint8_t* end_;
  size_t size_;
  Geometry& out_;
  bool bigEndian_ = false;
  size_t linearised_ = 0;
};

}  // namespace

const char* describe(ReadStatus status) {
  switch (status) {
    case ReadStatus::Ok: return nullptr;
    case ReadStatus::Truncated: return "the geometry ends before its counts say";
    case ReadStatus::BadByteOrder: return "the byte order mark is neither 0 nor 1";
    case ReadStatus::UnknownType: return "the geometry type is unknown";
    case ReadStatus::BadMember: return "a multi geometry has a member of another type";
    case ReadStatus::BadArc: return "a circular string has an even number of positions, or one";
    case ReadStatus::TooManyPositions: return "its arcs would have more than 4 million positions";
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
  return WkbReader(wkb, size, geometry).geometry(0, 0);
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

namespace {

bool isFinite(const Sequence& s) {
  bool finite = true;
  for (size_t i = 0; i < s.count; ++i) finite &= std::isfinite(s.x(i)) && std::isfinite(s.y(i));
  return finite;
}

/** Copies the finite parts of a geometry. */
struct FiniteParts {
  const Geometry& geometry;
  std::vector<Node> nodes;
  std::vector<Sequence> sequences;
  bool finite = true;
  size_t next = 0;

  /** Copies the next node with its members. False if it is omitted. */
  bool take() {
    const Node& node = geometry.nodes[next++];
    if (node.simple()) return takeSimple(node);
    const size_t at = nodes.size();
    nodes.push_back(node);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < node.members; ++i) kept += take() ? 1 : 0;
    nodes[at].members = kept;
    if (kept == 0) nodes.resize(at);
    return kept > 0;
  }

  bool takeSimple(const Node& node) {
    const auto begin = geometry.sequences.begin() + node.firstSequence;
    const auto end = begin + node.sequences;
    if (node.sequences == 0 || begin->count == 0) return false;
    if (!std::all_of(begin, end, isFinite)) return finite = false;
    nodes.push_back(node);
    nodes.back().firstSequence = static_cast<uint32_t>(sequences.size());
    sequences.insert(sequences.end(), begin, end);
    return true;
  }
};

}  // namespace

bool keepFiniteParts(Geometry& geometry) {
  const auto placed = [](const Sequence& s) { return s.count != 0 && isFinite(s); };
  const bool whole = std::all_of(geometry.sequences.begin(), geometry.sequences.end(), placed);
  // Empty points have no sequence.
  const bool hasEmpty = std::any_of(geometry.nodes.begin(), geometry.nodes.end(), [](const Node& node) {
    return node.simple() ? node.sequences == 0 : node.members == 0;
  });
  if (whole && !hasEmpty) return true;
  FiniteParts parts{geometry, {}, {}, true, 0};
  if (!parts.take()) parts.nodes.assign(1, {geometry.nodes[0].type, 0, 0, 0});
  geometry.nodes = std::move(parts.nodes);
  geometry.sequences = std::move(parts.sequences);
  return parts.finite;
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
