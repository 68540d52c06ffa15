"""Reads one layer as QGIS does: features, attributes and the window of a map. Prints JSON."""

import json
import os
import sys

from qgis.core import QgsApplication, QgsFeatureRequest, QgsRectangle, QgsVectorLayer

uri, provider, name, west, south, east, north = sys.argv[1:]
QgsApplication.setPrefixPath("/usr", True)
app = QgsApplication([], False)
app.initQgis()
layer = QgsVectorLayer(uri, "layer", provider)
if not layer.isValid():
    sys.exit(f"QGIS cannot open it: {layer.error().message()}")
window = QgsRectangle(float(west), float(south), float(east), float(north))
features = list(layer.getFeatures())
inside = QgsFeatureRequest().setFilterRect(window).setFlags(QgsFeatureRequest.ExactIntersect)
print(
    json.dumps(
        {
            "crs": layer.crs().authid(),
            "fields": [field.name() for field in layer.fields()],
            "features": len(features),
            "geometries": sum(1 for feature in features if feature.hasGeometry()),
            "inside": sorted(feature[name] for feature in layer.getFeatures(inside)),
            "renderer": layer.renderer().type(),
        }
    ),
    flush=True,
)
# Taking the application down is known to crash; what was read has been told.
os._exit(0)
