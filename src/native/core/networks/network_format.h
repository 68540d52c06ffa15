// Layout of network files: a header, a table of sections, and the sections, each at a multiple of 64 bytes.
#pragma once

#include <cstdint>

namespace graticule::networks {

constexpr char kMagic[8] = {'G', 'R', 'N', 'E', 'T', 'W', 'K', '1'};
constexpr size_t kAlignment = 64;

enum class Section : uint32_t {
  Source,
  Target,
  Costs,
  Lengths,
  PointFirst,
  Points,
  TailNode,
  HeadNode,
  VertexFirst,
  Leaving,
  Up,
  Head,
  Tail,
  Down,
  DownArc,
  DownTail,
  InputFirst,
  InputList,
  InputSlot,
  WeightsUp,
  WeightsDown,
  EdgeIdFirst,
  EdgeIds,
  VertexIdFirst,
  VertexIds,
  Count,
};

constexpr size_t kSections = static_cast<size_t>(Section::Count);

struct SectionPlace {
  uint64_t offset;
  uint64_t bytes;
};

struct FileHeader {
  char magic[8];
  /** 0x01020304 in the order of bytes of the writer, which is the reader's. */
  uint32_t byteOrder;
  uint32_t vertices;
  uint32_t edges;
  uint32_t turns;
  uint32_t nodes;
  uint32_t isGeographic;
  SectionPlace sections[kSections];
};

constexpr uint32_t kByteOrder = 0x01020304;

}  // namespace graticule::networks
