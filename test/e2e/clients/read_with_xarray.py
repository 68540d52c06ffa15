"""Reads coverages with rioxarray and xarray, compares them with their files, and prints what it found as JSON."""

import json
import sys
import warnings
from urllib.parse import urlencode
from urllib.request import urlopen

import numpy
import rasterio
import rioxarray
import xarray

warnings.simplefilter("ignore")
server, scene_file, years_file = sys.argv[1:]


def coverage(collection, **parameters):
    query = urlencode({"f": "geotiff", **parameters})
    return f"{server}/ogc/coverages/collections/{collection}/coverage?{query}"


# A whole scene, opened by its address, and a window of which only a part is fetched.
scene = rioxarray.open_rasterio(coverage("l7_etms"))
original = rioxarray.open_rasterio(scene_file)
window = dict(minx=290600, miny=9113400, maxx=292600, maxy=9115400)
part = rioxarray.open_rasterio(coverage("l7_etms")).rio.clip_box(**window)
dataset = xarray.open_dataset(coverage("l7_etms"), engine="rasterio")

# The months of a year as STAC tells them, by one request each, as one cube.
with urlopen(f"{server}/stac/collections/bcsd_obs_1999/items?limit=100") as answer:
    instants = sorted(item["properties"]["datetime"] for item in json.load(answer)["features"])
months = [rioxarray.open_rasterio(coverage("bcsd_obs_1999", properties="band_2", datetime=when), masked=True) for when in instants]
cube = xarray.concat(months, dim="month").squeeze("band")
with rasterio.open(f"netcdf:{years_file}:tas") as file:
    stack = file.read(masked=True)

print(
    json.dumps(
        {
            "dims": list(scene.dims),
            "shape": list(scene.shape),
            "crs": scene.rio.crs.to_epsg(),
            "valuesEqual": bool((scene.values == original.values).all()),
            "placesEqual": bool(
                numpy.allclose(scene.x, original.x, atol=1e-6) and numpy.allclose(scene.y, original.y, atol=1e-6)
            ),
            "windowEqual": bool((part.values == original.rio.clip_box(**window).values).all()),
            "windowShape": list(part.shape),
            "bands": int(dataset.sizes["band"]),
            "reprojected": int(scene.rio.reproject("EPSG:4326").rio.crs.to_epsg()),
            "months": int(cube.sizes["month"]),
            "monthsEqual": bool(numpy.array_equal(cube.values, stack.filled(numpy.nan), equal_nan=True)),
            "mean": float(cube.mean()),
        }
    )
)
