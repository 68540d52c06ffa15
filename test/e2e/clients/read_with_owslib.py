"""Reads one collection as OWSLib does: its description, its queryables, its items and those that a filter leaves. Prints JSON."""

import json
import sys

from owslib.ogcapi.features import Features

url, collection, cql = sys.argv[1:]
service = Features(url)
names = service.feature_collections()
items = service.collection_items(collection, limit=1000)
filtered = service.collection_items(collection, limit=1000, filter=cql)
print(
    json.dumps(
        {
            "conforms": any("ogcapi-features-1" in one for one in service.conformance()["conformsTo"]),
            "listed": collection in names,
            "title": service.collection(collection)["title"],
            "queryables": sorted(service.collection_queryables(collection)["properties"]),
            "matched": items["numberMatched"],
            "items": len(items["features"]),
            "filtered": len(filtered["features"]),
        }
    )
)
