"""exactextract or rasterstats over a raster and polygons of a file: prints CPU and wall milliseconds and the sum of the means as JSON."""
import json
import sys
import time

import geopandas

tool, raster, zones, names = sys.argv[1:5]
stats = names.split(",")
if tool == "rasterstats":
    from rasterstats import zonal_stats
else:
    from exactextract import exact_extract
wall = time.perf_counter()
cpu = time.process_time()
if tool == "rasterstats":
    rows = zonal_stats(zones, raster, stats=stats)
    means = [row["mean"] for row in rows]
else:
    table = exact_extract(raster, geopandas.read_file(zones), stats, output="pandas", strategy=tool)
    means = table["mean"].tolist()
cpu = time.process_time() - cpu
wall = time.perf_counter() - wall
print(json.dumps({"cpuMs": cpu * 1000, "wallMs": wall * 1000, "means": sum(means)}))
