#include "wkb_writer.h"

#include <limits>

namespace graticule {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool hasM(const Sequence& s) { return s.stride == (s.hasZ ? 32 : 24); }

class WkbWriter {
 public:
  WkbWriter(const Geometry& geometry, ByteBuffer& out) : geometry_(geometry), out_(out) {
    for (const Sequence& s : geometry.sequences) {
      z_ |= s.hasZ;
      m_ |= hasM(s);
    }
  }

  void write() {
    for (const Node& node : geometry_.nodes) {
      out_.push(1);
      u32(static_cast<uint32_t>(node.type) + (z_ ? 1000 : 0) + (m_ ? 2000 : 0));
      if (node.type == GeometryType::Point) {
        point(node);
      } else if (node.simple()) {
        if (node.type == GeometryType::Polygon) u32(node.sequences);
        for (uint32_t i = 0; i < node.sequences; ++i) line(geometry_.sequences[node.firstSequence + i]);
      } else {
        u32(node.members);
      }
    }
  }

 private:
  void u32(uint32_t value) { out_.append(&value, 4); }

  void point(const Node& node) {
    if (node.sequences != 0) return positions(geometry_.sequences[node.firstSequence]);
    for (int i = 0; i < 2 + z_ + m_; ++i) out_.append(&kNaN, 8);
  }

  void line(const Sequence& s) {
    u32(s.count);
    positions(s);
  }

  void positions(const Sequence& s) {
    const size_t stride = 16 + 8 * size_t{z_} + 8 * size_t{m_};
    if (s.hasZ == z_ && hasM(s) == m_) {
      out_.append(s.data, stride * s.count);
      return;
    }
    uint8_t* p = out_.reserve(stride * s.count);
    for (size_t i = 0; i < s.count; ++i) {
      const uint8_t* from = s.data + i * s.stride;
      std::memcpy(p, from, 16);
      p += 16;
      if (z_) p = ordinate(p, s.hasZ ? from + 16 : nullptr);
      if (m_) p = ordinate(p, hasM(s) ? from + s.stride - 8 : nullptr);
    }
    out_.commit(p);
  }

  static uint8_t* ordinate(uint8_t* p, const uint8_t* from) {
    std::memcpy(p, from == nullptr ? reinterpret_cast<const uint8_t*>(&kNaN) : from, 8);
    return p + 8;
  }

  const Geometry& geometry_;
  ByteBuffer& out_;
  bool z_ = false;
  bool m_ = false;
};

constexpr uint8_t kLittleEndian = 1;
constexpr uint8_t kEnvelopeXy = 1 << 1;
constexpr uint8_t kEmpty = 0x10;

}  // namespace

void writeWkb(const Geometry& geometry, ByteBuffer& out) { WkbWriter(geometry, out).write(); }

void writeGeoPackageBlob(const Geometry& geometry, int32_t srsId, ByteBuffer& out) {
  const Box box = envelopeOf(geometry);
  const bool envelope = box.valid() && geometry.nodes.front().type != GeometryType::Point;
  out.appendLiteral("GP");
  out.push(0);
  out.push(static_cast<uint8_t>(kLittleEndian | (envelope ? kEnvelopeXy : 0) | (box.valid() ? 0 : kEmpty)));
  out.append(&srsId, 4);
  if (envelope) {
    for (const double v : {box.minX, box.maxX, box.minY, box.maxY}) out.append(&v, 8);
  }
  writeWkb(geometry, out);
}

}  // namespace graticule
