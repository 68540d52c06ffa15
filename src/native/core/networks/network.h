// Road network in one file: its edges, its hierarchy and the weights of its costs, read where they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "metric.h"
#include "network_fault.h"

namespace graticule::networks {

/** Ids in ascending order of their bytes, in UTF-8. */
struct IdView {
  Span<uint32_t> first;
  Span<char> text;

  std::string_view at(uint32_t i) const { return {text.data + first[i], first[i + 1] - first[i]}; }
  /** Number of an id, or kNone. */
  uint32_t find(std::string_view id) const;
};

struct NetworkPoint {
  double x;
  double y;
};

/**
 * Directed edge 2e is edge e in the direction of its geometry, and 2e + 1 is the opposite. Inputs of the hierarchy below
 * 2 * edges are directed edges; input 2 * edges + t is turn t.
 */
struct NetworkView {
  uint32_t vertices = 0;
  uint32_t edges = 0;
  uint32_t turns = 0;
  /** Whether coordinates are longitudes and latitudes in degrees. Lengths are metres then, and units of the plane otherwise. */
  bool isGeographic = false;
  HierarchyView hierarchy;
  InputView inputs;
  MetricView metric;
  Span<uint32_t> source;
  Span<uint32_t> target;
  /** Cost of each input; infinite if it is closed. */
  Span<double> costs;
  Span<double> lengths;
  /** Vertices of each edge: points[pointFirst[e]] to points[pointFirst[e + 1]]. */
  Span<uint32_t> pointFirst;
  Span<NetworkPoint> points;
  /** Nodes where each directed edge starts and ends. */
  Span<uint32_t> tailNode;
  Span<uint32_t> headNode;
  /** Directed edges that leave each vertex: leaving[vertexFirst[v]] to leaving[vertexFirst[v + 1]]. */
  Span<uint32_t> vertexFirst;
  Span<uint32_t> leaving;
  IdView edgeIds;
  IdView vertexIds;

  uint32_t inputCount() const { return 2 * edges + turns; }
};

/** Throws `NetworkFault` unless the bytes are a network all of whose numbers are within its arrays. */
NetworkView parseNetwork(const uint8_t* bytes, size_t size);

/** Network file that is mapped into memory, which all threads and processes share. */
class MappedNetwork {
 public:
  explicit MappedNetwork(const std::string& path);
  ~MappedNetwork();
  MappedNetwork(const MappedNetwork&) = delete;
  MappedNetwork& operator=(const MappedNetwork&) = delete;

  const NetworkView& view() const { return view_; }

 private:
  void* bytes_ = nullptr;
  size_t size_ = 0;
  NetworkView view_;
};

}  // namespace graticule::networks
