#include "network.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "network_format.h"

namespace graticule::networks {
namespace {

[[noreturn]] void refuse(const char* message) { throw NetworkFault{message}; }

void require(bool isTrue, const char* message) {
  if (!isTrue) refuse(message);
}

class Sections {
 public:
  Sections(const uint8_t* bytes, size_t size) : bytes_(bytes), size_(size) {
    require(size >= sizeof(FileHeader), "the file is too short");
    std::memcpy(&header_, bytes, sizeof header_);
    require(std::memcmp(header_.magic, kMagic, sizeof kMagic) == 0, "the file is not a network of this version");
    require(header_.byteOrder == kByteOrder, "the file has another order of bytes");
  }

  const FileHeader& header() const { return header_; }

  template <typename T>
  Span<T> get(Section section, size_t count) const {
    const SectionPlace& place = header_.sections[static_cast<size_t>(section)];
    require(place.offset % kAlignment == 0 && place.offset <= size_ && place.bytes <= size_ - place.offset, "a section is outside the file");
    require(place.bytes == count * sizeof(T), "a section has another size");
    return {reinterpret_cast<const T*>(bytes_ + place.offset), count};
  }

  /** Number of elements that a section can have. */
  template <typename T>
  size_t count(Section section) const {
    return header_.sections[static_cast<size_t>(section)].bytes / sizeof(T);
  }

 private:
  const uint8_t* bytes_;
  size_t size_;
  FileHeader header_;
};

void requireBelow(Span<uint32_t> values, uint32_t end, const char* message) {
  uint32_t most = 0;
  for (const uint32_t value : values) most = value > most ? value : most;
  require(values.size == 0 || most < end, message);
}

void requireRanges(Span<uint32_t> first, size_t end, const char* message) {
  require(first.size != 0 && first[0] == 0 && first[first.size - 1] == end, message);
  for (size_t i = 1; i < first.size; ++i) require(first[i - 1] <= first[i], message);
}

void requireCosts(Span<double> costs) {
  for (const double cost : costs) require(cost >= 0, "a cost is negative or not a number");
}

IdView getIds(const Sections& sections, Section first, Section text, size_t count) {
  IdView ids;
  ids.first = sections.get<uint32_t>(first, count + 1);
  ids.text = sections.get<char>(text, sections.count<char>(text));
  requireRanges(ids.first, ids.text.size, "the ids are damaged");
  return ids;
}

/** Whether the neighbours above a node are also above its parent, so that all of them are its ancestors. */
bool hasClosedNeighbours(const HierarchyView& hierarchy, uint32_t node) {
  const uint32_t parent = hierarchy.parent(node);
  if (parent == kNone) return true;
  const uint32_t* const heads = hierarchy.head.data;
  return std::includes(heads + hierarchy.up[parent], heads + hierarchy.up[parent + 1], heads + hierarchy.up[node] + 1, heads + hierarchy.up[node + 1]);
}

void checkHierarchy(const HierarchyView& hierarchy) {
  const char* message = "the hierarchy is damaged";
  const size_t arcs = hierarchy.arcs();
  requireRanges(hierarchy.up, arcs, message);
  requireRanges(hierarchy.down, arcs, message);
  for (uint32_t v = 0; v < hierarchy.nodes; ++v) {
    uint32_t before = v;
    for (uint32_t a = hierarchy.up[v]; a < hierarchy.up[v + 1]; ++a) {
      require(hierarchy.tail[a] == v && hierarchy.head[a] > before && hierarchy.head[a] < hierarchy.nodes, message);
      before = hierarchy.head[a];
    }
    for (uint32_t i = hierarchy.down[v]; i < hierarchy.down[v + 1]; ++i) {
      require(hierarchy.downArc[i] < arcs && hierarchy.head[hierarchy.downArc[i]] == v && hierarchy.tail[hierarchy.downArc[i]] == hierarchy.downTail[i], message);
    }
  }
  for (uint32_t v = 0; v < hierarchy.nodes; ++v) {
    require(hasClosedNeighbours(hierarchy, v), message);
    for (uint32_t i = hierarchy.down[v] + 1; i < hierarchy.down[v + 1]; ++i) require(hierarchy.downArc[i - 1] < hierarchy.downArc[i], message);
  }
}

void checkInputs(const NetworkView& network) {
  const char* message = "the inputs of the hierarchy are damaged";
  const InputView& inputs = network.inputs;
  requireRanges(inputs.first, inputs.list.size, message);
  requireBelow(inputs.list, network.inputCount(), message);
  for (const uint32_t slot : inputs.slot) require(slot == kNone || slot < 2 * network.hierarchy.arcs(), message);
}

void checkEdges(const NetworkView& network) {
  requireBelow(network.source, network.vertices, "an edge starts at no vertex");
  requireBelow(network.target, network.vertices, "an edge ends at no vertex");
  requireBelow(network.tailNode, network.hierarchy.nodes, "an edge starts at no node");
  requireBelow(network.headNode, network.hierarchy.nodes, "an edge ends at no node");
  requireRanges(network.vertexFirst, network.leaving.size, "the edges of the vertices are damaged");
  requireBelow(network.leaving, 2 * network.edges, "the edges of the vertices are damaged");
  requireRanges(network.pointFirst, network.points.size, "the geometries are damaged");
  for (uint32_t e = 0; e < network.edges; ++e) require(network.pointFirst[e + 1] - network.pointFirst[e] >= 2, "a geometry has fewer than two points");
}

}  // namespace

uint32_t IdView::find(std::string_view id) const {
  uint32_t low = 0;
  auto high = static_cast<uint32_t>(first.size - 1);
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (at(middle) < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low + 1 < first.size && at(low) == id ? low : kNone;
}

NetworkView parseNetwork(const uint8_t* bytes, size_t size) {
  const Sections sections(bytes, size);
  const FileHeader& header = sections.header();
  require(header.edges < (1U << 30) && header.turns < (1U << 30) && header.vertices < kNone && header.nodes < kNone, "the file has too many edges");
  NetworkView network;
  network.vertices = header.vertices;
  network.edges = header.edges;
  network.turns = header.turns;
  network.isGeographic = header.isGeographic != 0;
  const size_t edges = header.edges;
  const size_t inputs = network.inputCount();
  const size_t arcs = sections.count<uint32_t>(Section::Head);
  require(arcs < (size_t{1} << 30), "the hierarchy is damaged");
  network.source = sections.get<uint32_t>(Section::Source, edges);
  network.target = sections.get<uint32_t>(Section::Target, edges);
  network.costs = sections.get<double>(Section::Costs, inputs);
  network.lengths = sections.get<double>(Section::Lengths, edges);
  network.pointFirst = sections.get<uint32_t>(Section::PointFirst, edges + 1);
  network.points = sections.get<NetworkPoint>(Section::Points, sections.count<NetworkPoint>(Section::Points));
  network.tailNode = sections.get<uint32_t>(Section::TailNode, 2 * edges);
  network.headNode = sections.get<uint32_t>(Section::HeadNode, 2 * edges);
  network.vertexFirst = sections.get<uint32_t>(Section::VertexFirst, size_t{header.vertices} + 1);
  network.leaving = sections.get<uint32_t>(Section::Leaving, 2 * edges);
  HierarchyView& hierarchy = network.hierarchy;
  hierarchy.nodes = header.nodes;
  hierarchy.up = sections.get<uint32_t>(Section::Up, size_t{header.nodes} + 1);
  hierarchy.head = sections.get<uint32_t>(Section::Head, arcs);
  hierarchy.tail = sections.get<uint32_t>(Section::Tail, arcs);
  hierarchy.down = sections.get<uint32_t>(Section::Down, size_t{header.nodes} + 1);
  hierarchy.downArc = sections.get<uint32_t>(Section::DownArc, arcs);
  hierarchy.downTail = sections.get<uint32_t>(Section::DownTail, arcs);
  network.inputs.first = sections.get<uint32_t>(Section::InputFirst, 2 * arcs + 1);
  network.inputs.list = sections.get<uint32_t>(Section::InputList, sections.count<uint32_t>(Section::InputList));
  network.inputs.slot = sections.get<uint32_t>(Section::InputSlot, inputs);
  network.metric.up = sections.get<double>(Section::WeightsUp, arcs);
  network.metric.down = sections.get<double>(Section::WeightsDown, arcs);
  network.edgeIds = getIds(sections, Section::EdgeIdFirst, Section::EdgeIds, edges);
  network.vertexIds = getIds(sections, Section::VertexIdFirst, Section::VertexIds, header.vertices);
  checkHierarchy(hierarchy);
  checkInputs(network);
  checkEdges(network);
  requireCosts(network.costs);
  requireCosts(network.metric.up);
  requireCosts(network.metric.down);
  return network;
}

MappedNetwork::MappedNetwork(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(file >= 0, "the file cannot be opened");
  struct stat status;
  const bool isKnown = fstat(file, &status) == 0 && status.st_size > 0;
  if (isKnown) {
    size_ = static_cast<size_t>(status.st_size);
    bytes_ = mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
  }
  close(file);
  require(isKnown, "the file is empty");
  require(bytes_ != MAP_FAILED, "the file cannot be mapped");
  try {
    view_ = parseNetwork(static_cast<const uint8_t*>(bytes_), size_);
  } catch (...) {
    munmap(bytes_, size_);
    throw;
  }
}

MappedNetwork::~MappedNetwork() { munmap(bytes_, size_); }

}  // namespace graticule::networks
