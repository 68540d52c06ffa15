"""RoutingKit's customisable contraction hierarchies on a graph in JSON: prints milliseconds and microseconds of CPU, and costs, as JSON."""
import json
import sys
import time

import routingkit_cch as kit

graph = json.load(open(sys.argv[1]))
tail, head, weights = graph["tail"], graph["head"], graph["weights"]


def measure(work, times=1):
    begin = time.process_time()
    for _ in range(times):
        result = work()
    return result, (time.process_time() - begin) / times


order, order_seconds = measure(
    lambda: kit.compute_order_inertial(len(graph["y"]), tail, head, graph["y"], graph["x"])
)
cch, build_seconds = measure(lambda: kit.CCH(order, tail, head, False))
metric, _ = measure(lambda: kit.CCHMetric(cch, weights))
_, customise_seconds = measure(lambda: metric.reset(weights), 20)
query = kit.CCHQuery(metric)
pairs = graph["pairs"]
costs, query_seconds = measure(lambda: [query.run(s, t).distance for s, t in pairs])
paths, path_seconds = measure(lambda: [len(query.run(s, t).arc_path) for s, t in pairs])
del query
updater = kit.CCHMetricPartialUpdater(cch)


def update():
    for arc, weight in graph["updates"]:
        updater.apply(metric, {arc: weight})


_, update_seconds = measure(update)
print(
    json.dumps(
        {
            "order": order_seconds * 1e3,
            "build": build_seconds * 1e3,
            "customise": customise_seconds * 1e3,
            "query": query_seconds / len(pairs) * 1e6,
            "path": path_seconds / len(pairs) * 1e6,
            "update": update_seconds / len(graph["updates"]) * 1e6,
            "costs": costs,
            "arcs": sum(paths),
        }
    )
)
