"""Reads heights with an unmodified honua-sdk. Arguments: base URL, dataset id, x, y, WKT of a line, interval."""

import json
import sys
from dataclasses import asdict

from honua_sdk import HonuaClient

base, dataset, x, y, line, interval = sys.argv[1:7]
with HonuaClient(base) as client:
    elevation = client.elevation()
    value = asdict(elevation.value(dataset, x=float(x), y=float(y)))
    profile = asdict(elevation.profile(dataset, line=line, interval=float(interval)))
for document in (value, profile):
    document.pop("raw_response")
    document["source"].pop("raw_response")
print(json.dumps({"value": value, "profile": profile}))
