// Reader of the layers of a vector tile (Vector Tile Specification 2.1, 4).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace graticule::mlt {

struct Bytes {
  const uint8_t* begin = nullptr;
  const uint8_t* end = nullptr;

  size_t size() const { return static_cast<size_t>(end - begin); }
};

struct MvtValue {
  enum class Kind : uint8_t { Text, Real, Integer, Unsigned, Boolean };
  Kind kind = Kind::Text;
  std::string_view text;
  double real = 0;
  /** Value of integers and booleans. Unsigned integers beyond 2^63 are stored as their bits. */
  int64_t integer = 0;
};

/** GeomType of the specification. */
enum class MvtType : uint8_t { Unknown = 0, Point = 1, LineString = 2, Polygon = 3 };

struct MvtFeature {
  bool hasId = false;
  MvtType type = MvtType::Unknown;
  uint64_t id = 0;
  Bytes tags;
  Bytes geometry;
};

/** Everything points into the tile. */
struct MvtLayer {
  std::string_view name;
  uint32_t extent = 4096;
  std::vector<std::string_view> keys;
  std::vector<MvtValue> values;
  std::vector<MvtFeature> features;

  void clear();
};

/**
 * Reads the layer that starts at `p`, and moves `p` to its end. Features of an unknown type or without geometry are
 * omitted. Throws `Broken` and `TooLarge`.
 */
void readMvtLayer(const uint8_t*& p, const uint8_t* end, MvtLayer& layer);

}  // namespace graticule::mlt
