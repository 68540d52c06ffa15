// Reader of GeoJSON geometries (RFC 7946) from clients, with all checks and error messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../geometry/geometry.h"
#include "json.h"
#include "../geometry/reprojector.h"

namespace graticule {

struct GeoJsonReadOptions {
  /** CRS of the text and of the result: anything PROJ reads. */
  std::string from = "OGC:CRS84";
  std::string to = "OGC:CRS84";
  /** The text is y,x ordered: CRS that are defined northing or latitude first. */
  bool swap = false;
  /** 2: z is dropped. 3: z is written, 0 where it is missing. 0: 3 when any position has a z. */
  uint32_t dimension = 0;
  /** Maximum positions of the complete geometry. */
  uint32_t maxVertices = 500'000;
};

/**
 * Reads one geometry object of any of the seven types. Numbers must be finite, lines have two positions, rings four and
 * be closed; empty coordinate arrays make empty geometries. Members other than `type`, `coordinates` and `geometries`
 * are skipped. The geometry is valid until the next read.
 */
class GeoJsonReader {
 public:
  /**
   * Reads a geometry. Returns false, and an `error` that names the position (`coordinates/0/3`), if the text is not
   * such a geometry.
   */
  bool read(std::string_view json, const GeoJsonReadOptions& options, const Reprojector& reprojector, Geometry& geometry,
            std::string& error);
  /** Position of the last failure. Empty if it concerns the complete geometry. */
  const std::string& failedAt() const { return failedAt_; }

 private:
  bool readGeometry(JsonReader& json, int depth);
  bool readBody(JsonReader& json, GeometryType type, int depth);
  bool readGeometries(JsonReader& json, int depth);
  bool readCoordinates(JsonReader& json, GeometryType type);
  bool readMembers(JsonReader& json, GeometryType member);
  bool readRings(JsonReader& json);
  bool readLine(JsonReader& json, size_t least, bool closed);
  bool readPoint(JsonReader& json);
  bool readPosition(JsonReader& json);
  /** Walks an array, keeping the place; `element` reads one member. */
  template <typename Element>
  bool readItems(JsonReader& json, Element&& element);
  void openNode(GeometryType type);
  bool reproject(const Reprojector& reprojector);
  void finish(Geometry& geometry) const;
  /** Always false; the first failure wins. */
  bool fail(const std::string& why);
  std::string place() const;

  GeoJsonReadOptions options_;
  /** x, y, z of every position. */
  std::vector<double> positions_;
  std::vector<uint32_t> counts_;
  std::vector<Node> nodes_;
  bool hasZ_ = false;
  /** Member names and indices down to the value in work; an index is kept as a number. */
  struct Step {
    const char* member;
    uint32_t index;
  };
  std::vector<Step> place_;
  std::string error_;
  std::string failedAt_;
};

}  // namespace graticule
