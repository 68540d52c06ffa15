#include <algorithm>
#include <map>
#include <set>

#include "network_builder.h"

namespace graticule::networks {
namespace {

using Kind = TurnRule::Kind;

uint32_t startOf(const NetworkInput& input, uint32_t directed) { return directed % 2 == 0 ? input.source[directed / 2] : input.target[directed / 2]; }

void listLeaving(const NetworkInput& input, TurnGraph& graph) {
  const auto directed = static_cast<uint32_t>(input.costs.size);
  graph.vertexFirst.assign(size_t{input.vertices} + 1, 0);
  for (uint32_t d = 0; d < directed; ++d) ++graph.vertexFirst[startOf(input, d) + 1];
  for (uint32_t v = 0; v < input.vertices; ++v) graph.vertexFirst[v + 1] += graph.vertexFirst[v];
  std::vector<uint32_t> fill(graph.vertexFirst.begin(), graph.vertexFirst.end() - 1);
  graph.leaving.resize(directed);
  for (uint32_t d = 0; d < directed; ++d) graph.leaving[fill[startOf(input, d)]++] = d;
}

/** Rules of one vertex by the pair of edges. */
struct VertexRules {
  std::set<std::pair<uint32_t, uint32_t>> prohibited;
  std::map<uint32_t, std::set<uint32_t>> required;
  std::map<std::pair<uint32_t, uint32_t>, double> penalties;

  bool allows(uint32_t from, uint32_t to) const {
    if (prohibited.count({from, to}) != 0) return false;
    const auto only = required.find(from);
    return only == required.end() || only->second.count(to) != 0;
  }

  double penalty(uint32_t from, uint32_t to) const {
    const auto found = penalties.find({from, to});
    return found == penalties.end() ? 0 : found->second;
  }
};

bool touches(const NetworkInput& input, uint32_t edge, uint32_t vertex) {
  return edge < input.source.size && (input.source[edge] == vertex || input.target[edge] == vertex);
}

std::map<uint32_t, VertexRules> sortRules(const NetworkInput& input) {
  std::map<uint32_t, VertexRules> byVertex;
  for (const TurnRule& rule : input.rules) {
    if (!touches(input, rule.from, rule.via) || !touches(input, rule.to, rule.via)) throw NetworkFault{"a restriction names edges that do not meet at its vertex"};
    VertexRules& rules = byVertex[rule.via];
    if (rule.kind == Kind::Prohibited) rules.prohibited.insert({rule.from, rule.to});
    if (rule.kind == Kind::Required) rules.required[rule.from].insert(rule.to);
    if (rule.kind == Kind::Penalty) rules.penalties[{rule.from, rule.to}] += rule.penalty;
  }
  return byVertex;
}

/** Gives each end of each directed edge at a vertex its own node, and connects them by the allowed turns. */
void expandVertex(const VertexRules& rules, uint32_t vertex, TurnGraph& graph) {
  const uint32_t* first = graph.leaving.data() + graph.vertexFirst[vertex];
  const uint32_t* last = graph.leaving.data() + graph.vertexFirst[vertex + 1];
  for (const uint32_t* d = first; d != last; ++d) {
    graph.headNode[*d ^ 1] = graph.nodes++;
    graph.tailNode[*d] = graph.nodes++;
    graph.vertexOfNode.insert(graph.vertexOfNode.end(), 2, vertex);
  }
  for (const uint32_t* in = first; in != last; ++in) {
    for (const uint32_t* out = first; out != last; ++out) {
      if (!rules.allows(*in / 2, *out / 2)) continue;
      graph.turns.push_back({graph.headNode[*in ^ 1], graph.tailNode[*out], rules.penalty(*in / 2, *out / 2)});
    }
  }
}

}  // namespace

TurnGraph expandTurns(const NetworkInput& input) {
  TurnGraph graph;
  listLeaving(input, graph);
  graph.tailNode.resize(input.costs.size);
  graph.headNode.resize(input.costs.size);
  const std::map<uint32_t, VertexRules> byVertex = sortRules(input);
  for (uint32_t v = 0; v < input.vertices; ++v) {
    const auto rules = byVertex.find(v);
    if (rules != byVertex.end()) {
      expandVertex(rules->second, v, graph);
      continue;
    }
    for (uint32_t i = graph.vertexFirst[v]; i < graph.vertexFirst[v + 1]; ++i) {
      graph.tailNode[graph.leaving[i]] = graph.nodes;
      graph.headNode[graph.leaving[i] ^ 1] = graph.nodes;
    }
    graph.vertexOfNode.push_back(v);
    ++graph.nodes;
  }
  return graph;
}

}  // namespace graticule::networks
