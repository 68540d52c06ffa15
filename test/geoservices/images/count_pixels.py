"""Counts the values of a raster within a polygon of its own CRS, by rasterio and numpy: file, GeoJSON geometry."""

import json
import sys

import numpy
import rasterio
from rasterio.features import geometry_mask

with rasterio.open(sys.argv[1]) as raster:
    geometry = json.loads(sys.argv[2])
    inside = geometry_mask([geometry], raster.shape, raster.transform, invert=True)
    valid = inside & (raster.read_masks(1) != 0)
    values = raster.read(1)[valid].astype("float64")

half = (values.max() - values.min()) / 510
counts, _ = numpy.histogram(values, 256, (values.min() - half, values.max() + half))
statistics = {"min": values.min(), "max": values.max(), "mean": values.mean(), "standardDeviation": values.std()}
print(json.dumps({"count": len(values), "counts": counts.tolist(), "statistics": statistics}))
