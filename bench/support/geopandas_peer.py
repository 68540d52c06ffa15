"""GeoPandas from file to file: prints CPU and wall milliseconds, those of the operation alone, and how many rows it made, as JSON."""
import json
import os
import sys
import time

import geopandas

case, left, right, output = sys.argv[1:5]


def now():
    return time.process_time(), time.perf_counter()


def compute(a, b):
    if case == "dissolve":
        return a.dissolve(by="parcels_group", aggfunc="count")
    if case == "intersection":
        return geopandas.overlay(a, b, how="intersection", keep_geom_type=True)
    if case == "join":
        return geopandas.sjoin(a, b, how="inner", predicate="intersects")
    return geopandas.sjoin_nearest(a, b, how="left", distance_col="distance")


begin = now()
a = geopandas.read_file(left)
b = None if case == "dissolve" else geopandas.read_file(right)
read = now()
result = compute(a, b)
done = now()
result.to_file(output, driver="GPKG")
end = now()
os.remove(output)
print(
    json.dumps(
        {
            "cpu": 1000 * (end[0] - begin[0]),
            "wall": 1000 * (end[1] - begin[1]),
            "operation": 1000 * (done[0] - read[0]),
            "rows": len(result),
        }
    )
)
