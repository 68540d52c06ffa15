"""scikit-learn on the points of a file: prints CPU and wall milliseconds as JSON, writes the labels to another file."""
import json
import sys
import time

import numpy as np
from sklearn.cluster import DBSCAN, KMeans

points, labels, algorithm, first, second = sys.argv[1:6]
data = np.fromfile(points).reshape(-1, 2)
if algorithm == "dbscan":
    model = DBSCAN(eps=float(first), min_samples=int(second))
else:
    model = KMeans(n_clusters=int(first), n_init=1, random_state=int(second))
wall = time.perf_counter()
cpu = time.process_time()
model.fit(data)
cpu = time.process_time() - cpu
wall = time.perf_counter() - wall
model.labels_.astype(np.int32).tofile(labels)
print(json.dumps({"cpuMs": cpu * 1000, "wallMs": wall * 1000}))
