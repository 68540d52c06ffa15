"""Reads the WMTS of a map service as OWSLib does. Prints JSON: address, matrix, row, column."""

import base64
import json
import sys

from owslib.wmts import WebMapTileService

address, matrix, row, column = sys.argv[1:]
wmts = WebMapTileService(address)
(name,) = wmts.contents
layer = wmts.contents[name]
(matrices,) = wmts.tilematrixsets.values()
where = {"tilematrixset": matrices.identifier, "tilematrix": matrix, "row": int(row), "column": int(column)}
tile = wmts.gettile(layer=name, style="default", format="image/png", **where)
print(
    json.dumps(
        {
            "name": name,
            "box": layer.boundingBoxWGS84,
            "sets": list(layer.tilematrixsetlinks),
            "crs": matrices.crs,
            "widths": [one.matrixwidth for one in matrices.tilematrix.values()][:3],
            "tile": base64.b64encode(tile.read()).decode(),
        }
    )
)
