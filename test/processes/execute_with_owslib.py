"""Executes a process as OWSLib does, waiting for its results, and as a job whose results are read. Prints JSON."""

import json
import sys
import time

from owslib.ogcapi.processes import Processes

url, key, collection, cql = sys.argv[1:]
service = Processes(url, headers={"X-API-Key": key})
description = service.process("geometry.buffer")
inputs = {"features": {"collection": collection, "filter": cql}, "distance": 10, "unit": "kilometre"}
together = service.execute("geometry.buffer", inputs=inputs)
status = service.execute("geometry.buffer", inputs=inputs, async_=True)
while status["status"] in ("accepted", "running"):
    time.sleep(0.05)
    status = service._request(path=f"jobs/{status['jobID']}")
results = service._request(path=f"jobs/{status['jobID']}/results")
print(
    json.dumps(
        {
            "listed": "geometry.buffer" in [one["id"] for one in service.processes()],
            "inputs": sorted(description["inputs"]),
            "status": status["status"],
            "types": [one["geometry"]["type"] for one in results["features"]["features"]],
            "same": together == results,
        }
    )
)
