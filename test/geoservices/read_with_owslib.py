"""Reads a map service as OWSLib does: its WMS in both versions, and its WMTS. Prints JSON: address, layer."""

import base64
import json
import sys

from owslib.util import ServiceException
from owslib.wms import WebMapService

address, layer = sys.argv[1:]


def read(version):
    wms = WebMapService(f"{address}/WMSServer", version=version)
    window = {"srs": "EPSG:4326", "bbox": (5, 45, 16, 56), "size": (110, 110)}
    picture = wms.getmap(layers=[layer], styles=["default"], format="image/png", transparent=True, **window)
    info = wms.getfeatureinfo(
        layers=[layer], query_layers=[layer], format="image/png", info_format="text/plain", xy=(50, 50), **window
    )
    try:
        wms.getmap(layers=["999"], format="image/png", **window)
        problem = None
    except ServiceException as error:
        problem = str(error)
    return {
        "version": wms.identification.version,
        "title": wms.contents[layer].title,
        "box": wms.contents[layer].boundingBoxWGS84,
        "queryable": wms.contents[layer].queryable,
        "crs": sorted(wms.contents[layer].crsOptions),
        "operations": [operation.name for operation in wms.operations],
        "legend": wms.contents[layer].styles["default"]["legend"],
        "picture": base64.b64encode(picture.read()).decode(),
        "info": info.read().decode(),
        "problem": problem,
    }


print(json.dumps([read("1.3.0"), read("1.1.1")]))
