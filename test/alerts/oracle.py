"""Transitions of features and zones by shapely and pyproj. Reads the zones, the rules and the edits as JSON from stdin."""
import json
import sys

from pyproj import Transformer
from shapely import from_wkt, prepare
from shapely.geometry import Point

case = json.load(sys.stdin)
zones = []
for zone in case["zones"]:
    shape = from_wkt(zone["wkt"])
    prepare(shape)
    to_zone = None if zone["srid"] == 4326 else Transformer.from_crs(4326, zone["srid"], always_xy=True)
    zones.append((shape, to_zone, shape.bounds))


def positions(zone, position):
    """The position in the CRS of a zone; longitudes in every turn that a zone can be written in."""
    _, to_zone, _ = zone
    if to_zone is not None:
        return [to_zone.transform(*position)]
    lon, lat = position
    return [(lon, lat), (lon + 360, lat), (lon - 360, lat)]


def is_inside(zone, position, relation):
    if position is None:
        return False
    shape, _, (west, south, east, north) = zone
    for x, y in positions(zone, position):
        if west <= x <= east and south <= y <= north:
            point = Point(x, y)
            if point.within(shape) if relation == "within" else point.intersects(shape):
                return True
    return False


inside = [set() for _ in case["rules"]]
found = []
for edit in case["edits"]:
    feature, position = edit["id"], edit.get("position")
    for number, rule in enumerate(case["rules"]):
        before = feature in inside[number]
        after = is_inside(zones[rule["zone"]], position, rule["relation"])
        if after:
            inside[number].add(feature)
        else:
            inside[number].discard(feature)
        if rule["trigger"] == "enter" and after and not before:
            found.append([number, feature])
        if rule["trigger"] == "exit" and before and not after and not edit.get("deleted"):
            found.append([number, feature])
json.dump(found, sys.stdout)
