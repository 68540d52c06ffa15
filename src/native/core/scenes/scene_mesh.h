// Faces of the features of a scene tile, in local axes (east, north, up).
#pragma once

#include <cstdint>
#include <vector>

#include "../geometry/geometry.h"
#include "ground_frame.h"
#include "triangulation.h"

namespace graticule {

/** Vertices have a flat normal and the number of their feature; three indices make a triangle, counter-clockwise. */
struct SceneMesh {
  /** East, north, up in metres. */
  std::vector<double> positions;
  /** Unit vectors in 127ths, four bytes a vertex: east, north, up, 0. */
  std::vector<int8_t> normals;
  std::vector<uint32_t> features;
  std::vector<uint32_t> indices;

  size_t vertices() const { return features.size(); }
  void clear() {
    positions.clear();
    normals.clear();
    features.clear();
    indices.clear();
  }
};

/** Builds a mesh polygon by polygon. Positions are longitude, latitude in degrees and heights in metres. */
class SceneMeshBuilder {
 public:
  /** One polygon: pairs of longitude and latitude without the repeated last position of a ring, and the ring ends. */
  struct Polygon {
    std::vector<double> lonLat;
    /** Heights of the positions; empty for a flat polygon. */
    std::vector<double> heights;
    std::vector<uint32_t> ends;

    void clear() {
      lonLat.clear();
      heights.clear();
      ends.clear();
    }
  };

  SceneMeshBuilder(SceneMesh& mesh, const GroundFrame& frame) : mesh_(mesh), frame_(frame) {}

  /** Adds walls, roof and floor of a polygon between two heights. False, and nothing added, for a polygon without area. */
  bool extrude(const Polygon& polygon, double base, double top, bool hasFloor, uint32_t feature);

  /** Adds a polygon with heights as one face, on its own plane. False, and nothing added, for one without area. */
  bool addFace(const Polygon& polygon, uint32_t feature);

  /** Polygons so far whose rings cross: their triangles overlap. */
  size_t crossed() const { return crossed_; }

 private:
  uint32_t addVertex(const Vector3& position, const Vector3& normal, uint32_t feature);

  SceneMesh& mesh_;
  const GroundFrame& frame_;
  Triangulator triangulator_;
  std::vector<double> plane_;
  std::vector<uint32_t> triangles_;
  std::vector<Vector3> grounds_;
  std::vector<Vector3> ups_;
  size_t crossed_ = 0;
};

}  // namespace graticule
