"""Imports a file of connections by the dialog of QGIS, and prints what its settings hold then, as JSON."""

import json
import os
import sys

from qgis.core import QgsApplication, QgsRasterLayer, QgsSettings, QgsVectorTileLayer
from qgis.gui import QgsManageConnectionsDialog
from qgis.PyQt.QtWidgets import QDialogButtonBox

file, kind = sys.argv[1:]
TYPES = {"features": "WFS", "tiles": "XyzTiles", "vector-tiles": "VectorTile"}
QgsApplication.setPrefixPath("/usr", True)
app = QgsApplication([], True)
app.initQgis()
before = set(QgsSettings().allKeys())
dialog = QgsManageConnectionsDialog(
    None, QgsManageConnectionsDialog.Import, getattr(QgsManageConnectionsDialog, TYPES[kind]), file
)
dialog.selectAll()
box = dialog.findChild(QDialogButtonBox)
box.button(QDialogButtonBox.Ok).click()
settings = QgsSettings()
imported = {key: str(settings.value(key)) for key in settings.allKeys() if key not in before}
url = next((value for key, value in imported.items() if key.lower().endswith("/url")), "")
valid = None
if kind == "tiles":
    valid = QgsRasterLayer(f"type=xyz&url={url}", "tiles", "wms").isValid()
if kind == "vector-tiles":
    valid = QgsVectorTileLayer(f"type=xyz&url={url}", "tiles").isValid()
print(json.dumps({"imported": imported, "url": url, "valid": valid}), flush=True)
# Taking the application down is known to crash; what was read has been told.
os._exit(0)
