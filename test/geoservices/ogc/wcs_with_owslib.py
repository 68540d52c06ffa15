"""Reads the WCS of an image service as OWSLib does. Prints JSON: address, a file for a part of the coverage."""

import json
import sys

from owslib.wcs import WebCoverageService

address, path = sys.argv[1:]
wcs = WebCoverageService(address, version="2.0.1")
(name,) = wcs.contents
coverage = wcs.contents[name]
grid = coverage.grid
subsets = [("E", 290000, 295000), ("N", 9112000, 9116000)]
answer = wcs.getCoverage(identifier=name, format="image/tiff", subsets=subsets)
with open(path, "wb") as file:
    file.write(answer.read())
# OWSLib writes two ends, which are equal for one place; other parameters go through unchanged.
slice_at = [("E", 290000, 290000), ("N", 9112000, 9116000)]
answer = wcs.getCoverage(identifier=name, format="image/tiff", subsets=slice_at, RANGESUBSET="band_4:band_5")
with open(f"{path}.slice.tif", "wb") as file:
    file.write(answer.read())
print(
    json.dumps(
        {
            "name": name,
            "version": wcs.version,
            "formats": coverage.supportedFormats,
            "axes": grid.axislabels,
            "high": grid.highlimits,
        }
    )
)
