#include "scene_mesh.h"

#include <cmath>

namespace graticule {
namespace {

Vector3 add(const Vector3& a, const Vector3& b, double times) {
  return {a.x + b.x * times, a.y + b.y * times, a.z + b.z * times};
}

/** Sum over the rings of the cross products of neighbours: normal of the polygon, of twice its area (Newell). */
Vector3 sumNormal(const std::vector<Vector3>& positions, const std::vector<uint32_t>& ends) {
  // Holes are smaller than the exterior ring, so they cannot change the direction.
  Vector3 normal{0, 0, 0};
  const uint32_t n = ends.front();
  for (uint32_t i = 0; i < n; ++i) {
    const Vector3 a = add(positions[i], positions[0], -1);
    const Vector3 b = add(positions[(i + 1) % n], positions[0], -1);
    normal.x += a.y * b.z - a.z * b.y;
    normal.y += a.z * b.x - a.x * b.z;
    normal.z += a.x * b.y - a.y * b.x;
  }
  return normal;
}

double lengthOf(const Vector3& v) { return std::sqrt(v.x * v.x + v.y * v.y + v.z * v.z); }

}  // namespace

uint32_t SceneMeshBuilder::addVertex(const Vector3& position, const Vector3& normal, uint32_t feature) {
  mesh_.positions.insert(mesh_.positions.end(), {position.x, position.y, position.z});
  const auto byteOf = [](double v) { return static_cast<int8_t>(std::lround(v * 127)); };
  mesh_.normals.insert(mesh_.normals.end(), {byteOf(normal.x), byteOf(normal.y), byteOf(normal.z), 0});
  mesh_.features.push_back(feature);
  return static_cast<uint32_t>(mesh_.features.size() - 1);
}

bool SceneMeshBuilder::extrude(const Polygon& polygon, double base, double top, bool hasFloor, uint32_t feature) {
  const size_t n = polygon.lonLat.size() / 2;
  grounds_.resize(n);
  ups_.resize(n);
  plane_.resize(2 * n);
  for (size_t i = 0; i < n; ++i) {
    frame_.place(polygon.lonLat[2 * i], polygon.lonLat[2 * i + 1], grounds_[i], ups_[i]);
    plane_[2 * i] = grounds_[i].x;
    plane_[2 * i + 1] = grounds_[i].y;
  }
  const size_t forced = triangulator_.triangulate(plane_, polygon.ends, triangles_);
  if (triangles_.empty()) return false;
  crossed_ += forced != 0;

  const Vector3 up = ups_[0];
  const auto addFlat = [&](double height, const Vector3& normal, bool reversed) {
    const auto first = static_cast<uint32_t>(mesh_.vertices());
    for (size_t i = 0; i < n; ++i) addVertex(add(grounds_[i], ups_[i], height), normal, feature);
    for (size_t t = 0; t < triangles_.size(); t += 3) {
      mesh_.indices.push_back(first + triangles_[t]);
      mesh_.indices.push_back(first + triangles_[t + (reversed ? 2 : 1)]);
      mesh_.indices.push_back(first + triangles_[t + (reversed ? 1 : 2)]);
    }
  };
  addFlat(top, up, false);
  if (hasFloor) addFlat(base, {-up.x, -up.y, -up.z}, true);

  uint32_t begin = 0;
  for (size_t r = 0; r < polygon.ends.size(); ++r) {
    const uint32_t end = polygon.ends[r];
    double area = 0;
    for (uint32_t i = begin; i < end; ++i) {
      const uint32_t j = i + 1 == end ? begin : i + 1;
      area += (grounds_[i].x - grounds_[begin].x) * (grounds_[j].y - grounds_[begin].y) -
              (grounds_[j].x - grounds_[begin].x) * (grounds_[i].y - grounds_[begin].y);
    }
    // Edges run with the polygon on their left, so walls face to the right.
    const bool forward = (area > 0) == (r == 0);
    for (uint32_t k = begin; k < end; ++k) {
      const uint32_t l = k + 1 == end ? begin : k + 1;
      const uint32_t i = forward ? k : l;
      const uint32_t j = forward ? l : k;
      const double dx = grounds_[j].x - grounds_[i].x;
      const double dy = grounds_[j].y - grounds_[i].y;
      const double length = std::sqrt(dx * dx + dy * dy);
      if (!(length > 0)) continue;
      const Vector3 normal{dy / length, -dx / length, 0};
      const uint32_t a = addVertex(add(grounds_[i], ups_[i], base), normal, feature);
      const uint32_t b = addVertex(add(grounds_[j], ups_[j], base), normal, feature);
      const uint32_t c = addVertex(add(grounds_[j], ups_[j], top), normal, feature);
      const uint32_t d = addVertex(add(grounds_[i], ups_[i], top), normal, feature);
      mesh_.indices.insert(mesh_.indices.end(), {a, b, c, a, c, d});
    }
    begin = end;
  }
  return true;
}

bool SceneMeshBuilder::addFace(const Polygon& polygon, uint32_t feature) {
  const size_t n = polygon.lonLat.size() / 2;
  grounds_.resize(n);
  plane_.resize(2 * n);
  for (size_t i = 0; i < n; ++i) {
    Vector3 up;
    frame_.place(polygon.lonLat[2 * i], polygon.lonLat[2 * i + 1], grounds_[i], up);
    grounds_[i] = add(grounds_[i], up, polygon.heights[i]);
  }
  Vector3 normal = sumNormal(grounds_, polygon.ends);
  const double length = lengthOf(normal);
  if (!(length > 0)) return false;
  normal = {normal.x / length, normal.y / length, normal.z / length};
  // The two axes that the face is seen along best; the order keeps the orientation.
  const double x = std::fabs(normal.x);
  const double y = std::fabs(normal.y);
  const double z = std::fabs(normal.z);
  const bool alongZ = z >= x && z >= y;
  const bool alongX = !alongZ && x >= y;
  const double sign = alongZ ? normal.z : alongX ? normal.x : normal.y;
  for (size_t i = 0; i < n; ++i) {
    const Vector3& p = grounds_[i];
    const double u = alongZ ? p.x : alongX ? p.y : p.z;
    const double v = alongZ ? p.y : alongX ? p.z : p.x;
    plane_[2 * i] = sign > 0 ? u : v;
    plane_[2 * i + 1] = sign > 0 ? v : u;
  }
  const size_t forced = triangulator_.triangulate(plane_, polygon.ends, triangles_);
  if (triangles_.empty()) return false;
  crossed_ += forced != 0;
  const auto first = static_cast<uint32_t>(mesh_.vertices());
  for (const Vector3& position : grounds_) addVertex(position, normal, feature);
  for (const uint32_t i : triangles_) mesh_.indices.push_back(first + i);
  return true;
}

}  // namespace graticule
