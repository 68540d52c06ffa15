"""Reads layers as restgdf does, and the features of OGC API Features by GDAL. Prints JSON: services, layer, items, longer layer."""

import asyncio
import json
import sys

import geopandas
from aiohttp import ClientSession
from restgdf import Directory, FeatureLayer
from shapely import MultiPolygon, normalize

services, address, items, longer = sys.argv[1:]


def areas(frame):
    """Areas as of several parts, which readers make of one part or not."""
    parts = (geometry if geometry.geom_type == "MultiPolygon" else MultiPolygon([geometry]) for geometry in frame.geometry)
    return [normalize(geometry) for geometry in parts]


async def read():
    async with ClientSession() as session:
        layer = await FeatureLayer.from_url(address, session=session)
        features = (await layer.get_gdf()).set_index("fid").sort_index()
        part = await (await layer.where("NAME LIKE 'S%'")).get_gdf()
        ids = await layer.get_oids()
        counts = await layer.get_value_counts("iso_a2")
        long = await FeatureLayer.from_url(longer, session=session)
        # All pages but the last one say that there are more, which it takes for a failure otherwise.
        query = {"returnGeometry": "false", "outFields": "fid"}
        pages = [page async for page in long.iter_pages(data=query, on_truncation="ignore")]
        directory = await Directory.from_url(services, session=session)
        found = await directory.crawl()
    expected = geopandas.read_file(items, fid_as_index=True).sort_index()
    pairs = zip(features.index, areas(features), areas(expected))
    return {
        "count": layer.count,
        "crs": features.crs.to_epsg(),
        "ids": sorted(ids) == features.index.tolist() == expected.index.tolist(),
        "columns": [name for name in expected.columns if name != "geometry" and features[name].equals(expected[name])],
        "different": [fid for fid, area, other in pairs if not area.equals_exact(other, 1e-7)],
        "part": sorted(part["NAME"]),
        "counted": int(counts["iso_a2_count"].sum()),
        "pages": [len(page["features"]) for page in pages],
        "rows": len({feature["attributes"]["fid"] for page in pages for feature in page["features"]}),
        "layers": {service.name + "/" + service.type: [layer.name for layer in service.metadata.layers or []] for service in found if service.metadata},
    }


print(json.dumps(asyncio.run(read())))
