"""Finds the zones of positions with the STRtree of shapely. Prints the CPU microseconds of each move and the number of pairs, as JSON."""
import json
import sys
import time

import numpy
import shapely

case = json.load(sys.stdin)
zones = shapely.polygons([numpy.array(ring) for ring in case["zones"]])
tree = shapely.STRtree(zones)
shapely.prepare(zones)
batch = case["batch"]
positions = [shapely.points(numpy.array(case["positions"][i : i + batch])) for i in range(0, len(case["positions"]), batch)]
tree.query(positions[0], predicate="intersects")
begin = time.process_time()
pairs = sum(tree.query(part, predicate="intersects").shape[1] for part in positions)
spent = time.process_time() - begin
json.dump({"cpu": spent * 1e6 / (len(case["positions"]) / 2), "pairs": pairs}, sys.stdout)
