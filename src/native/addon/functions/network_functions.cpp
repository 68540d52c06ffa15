// Road networks: building files, and routes in files that are mapped.
#include "network_functions.h"

#include <cmath>
#include <cstring>

#include "../../core/networks/network_builder.h"
#include "../../core/networks/position_route.h"
#include "../arrays.h"

namespace graticule::addon {
namespace {

using namespace networks;

/** Code of a failure because of the edges or the file. */
constexpr const char* kNetworkFault = "ERR_NETWORK";

/** The locator is created when the first position is located. */
struct OpenNetwork {
  explicit OpenNetwork(const std::string& path) : file(path) {}

  const EdgeLocator& locator() {
    if (found == nullptr) found = std::make_unique<EdgeLocator>(file.view());
    return *found;
  }

  MappedNetwork file;
  std::unique_ptr<EdgeLocator> found;
};

/** Pointer to a network from JavaScript, and from its costs and queries, which can outlive it. */
using NetworkHandle = std::shared_ptr<OpenNetwork>;

struct OwnCosts {
  explicit OwnCosts(NetworkHandle network)
      : network(std::move(network)), partial(this->network->file.view().hierarchy, this->network->file.view().inputs) {}

  CostView view() const {
    CostView view;
    view.costs = costs;
    view.metric = metric.view();
    return view;
  }

  NetworkHandle network;
  std::vector<double> costs;
  Metric metric;
  PartialCustomisation partial;
};

struct OpenQuery {
  explicit OpenQuery(NetworkHandle handle) : network(std::move(handle)), query(network->file.view().hierarchy, network->file.view().inputs) {}

  NetworkHandle network;
  RouteQuery query;
};

NetworkHandle& networkOf(napi_env env, napi_value value) { return requireExternal<NetworkHandle>(env, value, "the network"); }

bool isAbsent(napi_env env, napi_value value) {
  napi_valuetype type;
  check(napi_typeof(env, value, &type));
  return type == napi_undefined || type == napi_null;
}

/** Costs that the caller passed, or the costs in the file. Throws if they belong to another network. */
CostView costsOf(napi_env env, const NetworkHandle& network, napi_value value) {
  if (isAbsent(env, value)) {
    CostView view;
    view.costs = network->file.view().costs;
    view.metric = network->file.view().metric;
    return view;
  }
  const OwnCosts& own = requireExternal<OwnCosts>(env, value, "the costs");
  if (own.network != network) throw Failure{"the costs are those of another network", true};
  return own.view();
}

Span<uint32_t> requireIndexes(napi_env env, napi_value value, const char* what) {
  const auto elements = requireElements<uint32_t>(env, value, napi_uint32_array, what);
  return {elements.data, elements.size};
}

Span<double> requireNumbers(napi_env env, napi_value value, const char* what) {
  const auto elements = requireDoubles(env, value, what);
  return {elements.data, elements.size};
}

IdView requireIds(napi_env env, napi_value first, napi_value text, const char* what) {
  const uint8_t* data = nullptr;
  size_t size = 0;
  if (!bytesOf(env, text, data, size)) throw Failure{std::string(what) + " must be bytes", true};
  IdView ids;
  ids.first = requireIndexes(env, first, what);
  ids.text = {reinterpret_cast<const char*>(data), size};
  return ids;
}

std::vector<TurnRule> requireRules(napi_env env, napi_value value) {
  const auto numbers = requireDoubles(env, value, "the restrictions");
  if (numbers.size % 5 != 0) throw Failure{"the restrictions must have 5 numbers each", true};
  std::vector<TurnRule> rules;
  for (const double* n = numbers.data; n != numbers.data + numbers.size; n += 5) {
    for (int i = 0; i < 4; ++i) {
      if (!(n[i] >= 0 && n[i] < kNone)) throw Failure{"a restriction has a number that is not an index", true};
    }
    if (n[0] > 2) throw Failure{"a restriction has another kind", true};
    rules.push_back({static_cast<TurnRule::Kind>(n[0]), static_cast<uint32_t>(n[1]), static_cast<uint32_t>(n[2]), static_cast<uint32_t>(n[3]), n[4]});
  }
  return rules;
}

EdgePosition requirePosition(const NetworkView& network, const double* numbers) {
  if (!(numbers[0] >= 0 && numbers[0] < network.edges)) throw Failure{"a position names no edge", true};
  if (!(numbers[1] >= 0 && numbers[1] <= 1)) throw Failure{"a position is not between 0 and 1", true};
  return {static_cast<uint32_t>(numbers[0]), numbers[1]};
}

}  // namespace

/**
 * (vertexCount, isGeographic, sources, targets, costs, pointFirst, points, restrictions, edgeIdFirst, edgeIds,
 * vertexIdFirst, vertexIds) -> Buffer
 */
napi_value buildNetwork(napi_env env, napi_callback_info info) {
  const Arguments<12> arguments(env, info);
  NetworkInput input;
  input.vertices = requireWhole(env, arguments[0], "vertexCount", 0, kNone - 1);
  input.isGeographic = requireBoolean(env, arguments[1], "isGeographic");
  input.source = requireIndexes(env, arguments[2], "sources");
  input.target = requireIndexes(env, arguments[3], "targets");
  input.costs = requireNumbers(env, arguments[4], "costs");
  input.pointFirst = requireIndexes(env, arguments[5], "pointFirst");
  const auto points = requireDoubles(env, arguments[6], "points");
  if (points.size % 2 != 0) throw Failure{"points must be pairs", true};
  input.points = {reinterpret_cast<const NetworkPoint*>(points.data), points.size / 2};
  input.rules = requireRules(env, arguments[7]);
  input.edgeIds = requireIds(env, arguments[8], arguments[9], "edgeIds");
  input.vertexIds = requireIds(env, arguments[10], arguments[11], "vertexIds");
  try {
    const std::vector<uint8_t> bytes = networks::buildNetwork(input);
    return toBuffer(env, bytes.data(), bytes.size());
  } catch (const NetworkFault& fault) {
    throw Failure{fault.message, false, {}, kNetworkFault};
  }
}

/** (path) -> network */
napi_value openNetwork(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  try {
    return toExternal(env, std::make_unique<NetworkHandle>(std::make_shared<OpenNetwork>(requireText(env, arguments[0], "path"))));
  } catch (const NetworkFault& fault) {
    throw Failure{fault.message, false, {}, kNetworkFault};
  }
}

/** (network) -> { vertices, edges, turns, nodes, arcs } */
napi_value describeNetwork(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  const NetworkView& network = networkOf(env, arguments[0])->file.view();
  napi_value out;
  check(napi_create_object(env, &out));
  setProperty(env, out, "vertices", toNumber(env, network.vertices));
  setProperty(env, out, "edges", toNumber(env, network.edges));
  setProperty(env, out, "turns", toNumber(env, network.turns));
  setProperty(env, out, "nodes", toNumber(env, network.hierarchy.nodes));
  setProperty(env, out, "arcs", toNumber(env, static_cast<double>(network.hierarchy.arcs())));
  return out;
}

/** (network, isEdge, number) -> the id of an edge or vertex */
napi_value readNetworkId(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  const NetworkView& network = networkOf(env, arguments[0])->file.view();
  const IdView& ids = requireBoolean(env, arguments[1], "isEdge") ? network.edgeIds : network.vertexIds;
  const std::string_view id = ids.at(requireWhole(env, arguments[2], "number", 0, static_cast<double>(ids.first.size) - 2));
  return toText(env, id.data(), id.size());
}

/** (network, isEdge, id) -> the number of an edge or vertex, or -1 */
napi_value findNetworkId(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  const NetworkView& network = networkOf(env, arguments[0])->file.view();
  const IdView& ids = requireBoolean(env, arguments[1], "isEdge") ? network.edgeIds : network.vertexIds;
  const uint32_t number = ids.find(requireText(env, arguments[2], "id"));
  return toNumber(env, number == kNone ? -1.0 : number);
}

/** (network, x, y, reach, usable: Uint8Array or null) -> Float64Array of edge, share, x, y, distance, or null */
napi_value locateOnNetwork(napi_env env, napi_callback_info info) {
  const Arguments<5> arguments(env, info);
  OpenNetwork& network = *networkOf(env, arguments[0]);
  const NetworkPoint point = {requireNumber(env, arguments[1], "x"), requireNumber(env, arguments[2], "y")};
  Span<uint8_t> usable;
  if (!isAbsent(env, arguments[4])) {
    const auto elements = requireElements<uint8_t>(env, arguments[4], napi_uint8_array, "usable");
    if (elements.size != network.file.view().edges) throw Failure{"usable must have a number for each edge", true};
    usable = {elements.data, elements.size};
  }
  const auto found = network.locator().find(point, requireNumber(env, arguments[3], "reach"), usable);
  napi_value out;
  if (!found) {
    check(napi_get_null(env, &out));
    return out;
  }
  double* numbers = nullptr;
  out = makeArray(env, napi_float64_array, 5, numbers);
  const double values[] = {static_cast<double>(found->at.edge), found->at.share, found->point.x, found->point.y, found->distance};
  std::memcpy(numbers, values, sizeof values);
  return out;
}

/** (network, costs: Float64Array of 2 per edge, or null for those of the network) -> costs */
napi_value createNetworkCosts(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const NetworkHandle& handle = networkOf(env, arguments[0]);
  const NetworkView& network = handle->file.view();
  auto own = std::make_unique<OwnCosts>(handle);
  own->costs.assign(network.costs.begin(), network.costs.end());
  if (isAbsent(env, arguments[1])) {
    own->metric.up.assign(network.metric.up.begin(), network.metric.up.end());
    own->metric.down.assign(network.metric.down.begin(), network.metric.down.end());
    return toExternal(env, std::move(own));
  }
  const Span<double> costs = requireNumbers(env, arguments[1], "costs");
  if (costs.size != 2 * size_t{network.edges}) throw Failure{"costs must have 2 numbers for each edge", true};
  for (size_t i = 0; i < costs.size; ++i) own->costs[i] = costs[i] < 0 ? INFINITY : costs[i];
  for (size_t i = 0; i < costs.size; ++i) {
    if (!(own->costs[i] >= 0)) throw Failure{"a cost is not a number", true};
  }
  customise(network.hierarchy, network.inputs, own->costs, own->metric);
  return toExternal(env, std::move(own));
}

/** (costs, directed: Uint32Array, values: Float64Array) -> number of changed arcs. Updates only what depends on them. */
napi_value updateNetworkCosts(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  OwnCosts& own = requireExternal<OwnCosts>(env, arguments[0], "the costs");
  const Span<uint32_t> changed = requireIndexes(env, arguments[1], "directed");
  const Span<double> values = requireNumbers(env, arguments[2], "values");
  if (changed.size != values.size) throw Failure{"directed and values must have the same length", true};
  for (size_t i = 0; i < changed.size; ++i) {
    if (changed[i] >= 2 * own.network->file.view().edges) throw Failure{"directed names no edge", true};
    if (std::isnan(values[i])) throw Failure{"a cost is not a number", true};
  }
  for (size_t i = 0; i < changed.size; ++i) own.costs[changed[i]] = values[i] < 0 ? INFINITY : values[i];
  return toNumber(env, static_cast<double>(own.partial.run(own.costs, changed, own.metric)));
}

/** (costs, costs) -> whether all weights of both are equal */
napi_value compareNetworkCosts(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const OwnCosts& a = requireExternal<OwnCosts>(env, arguments[0], "the costs");
  const OwnCosts& b = requireExternal<OwnCosts>(env, arguments[1], "the costs");
  return toBoolean(env, a.costs == b.costs && a.metric.up == b.metric.up && a.metric.down == b.metric.down);
}

/** (network) -> query */
napi_value createNetworkQuery(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  return toExternal(env, std::make_unique<OpenQuery>(networkOf(env, arguments[0])));
}

/** (query, costs or null, pairs: Float64Array of edge, share, edge, share) -> Float64Array of costs */
napi_value findNetworkCosts(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  OpenQuery& open = requireExternal<OpenQuery>(env, arguments[0], "the query");
  const NetworkView& network = open.network->file.view();
  const CostView costs = costsOf(env, open.network, arguments[1]);
  const Span<double> pairs = requireNumbers(env, arguments[2], "pairs");
  if (pairs.size % 4 != 0) throw Failure{"pairs must have 4 numbers each", true};
  for (size_t i = 0; i < pairs.size; i += 2) requirePosition(network, pairs.data + i);
  double* out = nullptr;
  napi_value result = makeArray(env, napi_float64_array, pairs.size / 4, out);
  for (size_t i = 0; i < pairs.size; i += 4) {
    *out++ = findCost(network, costs, open.query, requirePosition(network, pairs.data + i), requirePosition(network, pairs.data + i + 2));
  }
  return result;
}

/** (query, costs or null, pair: Float64Array of 4) -> Float64Array of cost, then directed edge, from, to for each part; or null */
napi_value findNetworkRoute(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  OpenQuery& open = requireExternal<OpenQuery>(env, arguments[0], "the query");
  const NetworkView& network = open.network->file.view();
  const CostView costs = costsOf(env, open.network, arguments[1]);
  const Span<double> pair = requireNumbers(env, arguments[2], "pair");
  if (pair.size != 4) throw Failure{"pair must have 4 numbers", true};
  const auto route = findRoute(network, costs, open.query, requirePosition(network, pair.data), requirePosition(network, pair.data + 2));
  napi_value result;
  if (!route) {
    check(napi_get_null(env, &result));
    return result;
  }
  double* out = nullptr;
  result = makeArray(env, napi_float64_array, 1 + 3 * route->parts.size(), out);
  *out++ = route->cost;
  for (const RoutePart& part : route->parts) {
    *out++ = part.directed;
    *out++ = part.from;
    *out++ = part.to;
  }
  return result;
}

/** (network, parts: Float64Array of directed edge, from, to) -> Float64Array of length, then x, y of each point */
napi_value readNetworkGeometry(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const NetworkView& network = networkOf(env, arguments[0])->file.view();
  const Span<double> parts = requireNumbers(env, arguments[1], "parts");
  if (parts.size % 3 != 0) throw Failure{"parts must have 3 numbers each", true};
  std::vector<NetworkPoint> points;
  double length = 0;
  for (size_t i = 0; i < parts.size; i += 3) {
    if (!(parts[i] >= 0 && parts[i] < 2.0 * network.edges)) throw Failure{"a part names no edge", true};
    const auto edge = static_cast<uint32_t>(parts[i]) / 2;
    appendGeometry(network, edge, parts[i + 1], parts[i + 2], points);
    length += network.lengths[edge] * std::fabs(parts[i + 2] - parts[i + 1]);
  }
  double* out = nullptr;
  napi_value result = makeArray(env, napi_float64_array, 1 + 2 * points.size(), out);
  *out++ = length;
  if (!points.empty()) std::memcpy(out, points.data(), points.size() * sizeof(NetworkPoint));
  return result;
}

}  // namespace graticule::addon
