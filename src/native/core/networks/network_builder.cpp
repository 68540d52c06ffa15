#include "network_builder.h"

#include <geodesic.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "dissection.h"
#include "network_format.h"

namespace graticule::networks {
namespace {

/** Costs beyond this could lose a unit in sums. */
constexpr double kMaxCost = 1e15;

void checkIds(const IdView& ids, size_t count) {
  const char* message = "the ids are not unique and in the order of their bytes";
  if (ids.first.size != count + 1 || ids.first[0] != 0 || ids.first[count] != ids.text.size) throw NetworkFault{message};
  for (uint32_t i = 0; i < count; ++i) {
    if (ids.first[i] > ids.first[i + 1] || ids.first[i + 1] > ids.text.size) throw NetworkFault{message};
    if (i > 0 && !(ids.at(i - 1) < ids.at(i))) throw NetworkFault{message};
  }
}

void checkInput(const NetworkInput& input) {
  const size_t edges = input.source.size;
  if (edges >= (size_t{1} << 30)) throw NetworkFault{"there are too many edges"};
  if (input.target.size != edges || input.costs.size != 2 * edges || input.pointFirst.size != edges + 1 || input.pointFirst[0] != 0 ||
      input.pointFirst[edges] != input.points.size) {
    throw NetworkFault{"the arrays of the edges have different lengths"};
  }
  for (size_t e = 0; e < edges; ++e) {
    if (input.source[e] >= input.vertices || input.target[e] >= input.vertices) throw NetworkFault{"an edge ends at no vertex"};
    if (input.pointFirst[e + 1] < input.pointFirst[e] + 2 || input.pointFirst[e + 1] > input.points.size) throw NetworkFault{"a geometry has fewer than two points"};
  }
  checkIds(input.edgeIds, edges);
  checkIds(input.vertexIds, input.vertices);
  for (const double cost : input.costs) {
    if (!(cost <= kMaxCost)) throw NetworkFault{"a cost is not a number up to 1e15"};
  }
  for (const NetworkPoint& point : input.points) {
    if (!std::isfinite(point.x) || !std::isfinite(point.y)) throw NetworkFault{"a coordinate is not finite"};
  }
  for (const TurnRule& rule : input.rules) {
    if (!(rule.penalty >= 0 && rule.penalty <= kMaxCost)) throw NetworkFault{"a penalty is not a number from 0 to 1e15"};
  }
}

std::vector<double> measureEdges(const NetworkInput& input) {
  geod_geodesic earth;
  geod_init(&earth, 6378137, 1 / 298.257223563);
  std::vector<double> lengths;
  for (size_t e = 0; e < input.source.size; ++e) {
    double length = 0;
    for (uint32_t i = input.pointFirst[e] + 1; i < input.pointFirst[e + 1]; ++i) {
      const NetworkPoint& a = input.points[i - 1];
      const NetworkPoint& b = input.points[i];
      double step = std::hypot(b.x - a.x, b.y - a.y);
      if (input.isGeographic) geod_inverse(&earth, a.y, a.x, b.y, b.x, &step, nullptr, nullptr);
      length += step;
    }
    lengths.push_back(length);
  }
  return lengths;
}

/** Position of each vertex: the end of its first edge. */
std::vector<Position> placeVertices(const NetworkInput& input) {
  std::vector<Position> positions(input.vertices, Position{0, 0});
  std::vector<uint8_t> placed(input.vertices, 0);
  const auto place = [&](uint32_t vertex, const NetworkPoint& point) {
    if (placed[vertex]++ == 0) positions[vertex] = {point.x, point.y};
    placed[vertex] = 1;
  };
  for (size_t e = 0; e < input.source.size; ++e) {
    place(input.source[e], input.points[input.pointFirst[e]]);
    place(input.target[e], input.points[input.pointFirst[e + 1] - 1]);
  }
  return positions;
}

/** Ends of each input, as nodes. */
std::vector<std::pair<uint32_t, uint32_t>> listInputs(const TurnGraph& graph) {
  std::vector<std::pair<uint32_t, uint32_t>> inputs;
  for (size_t d = 0; d < graph.tailNode.size(); ++d) inputs.emplace_back(graph.tailNode[d], graph.headNode[d]);
  for (const TurnGraph::Turn& turn : graph.turns) inputs.emplace_back(turn.from, turn.to);
  return inputs;
}

/** Numbers the nodes in the order of their contraction. */
void rankNodes(const NetworkInput& input, TurnGraph& graph) {
  const std::vector<Position> vertices = placeVertices(input);
  std::vector<Position> positions;
  for (const uint32_t v : graph.vertexOfNode) positions.push_back(vertices[v]);
  const std::vector<uint32_t> order = dissect(positions, listInputs(graph));
  std::vector<uint32_t> rank(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  for (uint32_t& node : graph.tailNode) node = rank[node];
  for (uint32_t& node : graph.headNode) node = rank[node];
  for (TurnGraph::Turn& turn : graph.turns) turn = {rank[turn.from], rank[turn.to], turn.cost};
}

struct InputLists {
  std::vector<uint32_t> first;
  std::vector<uint32_t> list;
  std::vector<uint32_t> slot;

  InputView view() const {
    InputView view;
    view.first = first;
    view.list = list;
    view.slot = slot;
    return view;
  }
};

InputLists assignInputs(const HierarchyView& hierarchy, const std::vector<std::pair<uint32_t, uint32_t>>& inputs) {
  InputLists lists;
  lists.first.assign(2 * hierarchy.arcs() + 1, 0);
  for (const auto& [tail, head] : inputs) {
    lists.slot.push_back(tail == head ? kNone : 2 * hierarchy.find(std::min(tail, head), std::max(tail, head)) + (tail < head ? 0 : 1));
    if (tail != head) ++lists.first[lists.slot.back() + 1];
  }
  for (size_t i = 1; i < lists.first.size(); ++i) lists.first[i] += lists.first[i - 1];
  std::vector<uint32_t> fill(lists.first.begin(), lists.first.end() - 1);
  lists.list.resize(lists.first.back());
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if (lists.slot[i] != kNone) lists.list[fill[lists.slot[i]]++] = i;
  }
  return lists;
}

std::vector<double> listCosts(const NetworkInput& input, const TurnGraph& graph) {
  std::vector<double> costs;
  for (const double cost : input.costs) costs.push_back(cost < 0 ? INFINITY : cost);
  for (const TurnGraph::Turn& turn : graph.turns) costs.push_back(turn.cost);
  return costs;
}

class FileWriter {
 public:
  explicit FileWriter(const FileHeader& header) : header_(header), bytes_(sizeof(FileHeader), 0) {}

  template <typename T>
  void add(Section section, Span<T> values) {
    bytes_.resize((bytes_.size() + kAlignment - 1) / kAlignment * kAlignment, 0);
    header_.sections[static_cast<size_t>(section)] = {bytes_.size(), values.size * sizeof(T)};
    const auto* data = reinterpret_cast<const uint8_t*>(values.data);
    bytes_.insert(bytes_.end(), data, data + values.size * sizeof(T));
  }

  template <typename T>
  void add(Section section, const std::vector<T>& values) {
    add(section, Span<T>(values));
  }

  std::vector<uint8_t> finish() {
    std::memcpy(bytes_.data(), &header_, sizeof header_);
    return std::move(bytes_);
  }

 private:
  FileHeader header_;
  std::vector<uint8_t> bytes_;
};

FileHeader describe(const NetworkInput& input, const TurnGraph& graph) {
  FileHeader header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.byteOrder = kByteOrder;
  header.vertices = input.vertices;
  header.edges = static_cast<uint32_t>(input.source.size);
  header.turns = static_cast<uint32_t>(graph.turns.size());
  header.nodes = graph.nodes;
  header.isGeographic = input.isGeographic ? 1 : 0;
  return header;
}

}  // namespace

std::vector<uint8_t> buildNetwork(const NetworkInput& input) {
  checkInput(input);
  TurnGraph graph = expandTurns(input);
  if (graph.turns.size() >= (size_t{1} << 30)) throw NetworkFault{"there are too many turns at vertices with restrictions"};
  rankNodes(input, graph);
  const auto ends = listInputs(graph);
  const Hierarchy hierarchy = contract(graph.nodes, ends);
  const InputLists inputs = assignInputs(hierarchy.view(), ends);
  const std::vector<double> costs = listCosts(input, graph);
  Metric metric;
  customise(hierarchy.view(), inputs.view(), costs, metric);
  FileWriter file(describe(input, graph));
  file.add(Section::Source, input.source);
  file.add(Section::Target, input.target);
  file.add(Section::Costs, costs);
  file.add(Section::Lengths, measureEdges(input));
  file.add(Section::PointFirst, input.pointFirst);
  file.add(Section::Points, input.points);
  file.add(Section::TailNode, graph.tailNode);
  file.add(Section::HeadNode, graph.headNode);
  file.add(Section::VertexFirst, graph.vertexFirst);
  file.add(Section::Leaving, graph.leaving);
  file.add(Section::Up, hierarchy.up);
  file.add(Section::Head, hierarchy.head);
  file.add(Section::Tail, hierarchy.tail);
  file.add(Section::Down, hierarchy.down);
  file.add(Section::DownArc, hierarchy.downArc);
  file.add(Section::DownTail, hierarchy.downTail);
  file.add(Section::InputFirst, inputs.first);
  file.add(Section::InputList, inputs.list);
  file.add(Section::InputSlot, inputs.slot);
  file.add(Section::WeightsUp, metric.up);
  file.add(Section::WeightsDown, metric.down);
  file.add(Section::EdgeIdFirst, input.edgeIds.first);
  file.add(Section::EdgeIds, input.edgeIds.text);
  file.add(Section::VertexIdFirst, input.vertexIds.first);
  file.add(Section::VertexIds, input.vertexIds.text);
  return file.finish();
}

}  // namespace graticule::networks
