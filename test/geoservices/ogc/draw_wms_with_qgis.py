"""Draws a layer of a WMS or WMTS as QGIS does, around a place of Web Mercator. Prints JSON: uri, x, y."""

import json
import os
import sys

from qgis.core import QgsApplication, QgsMapRendererParallelJob, QgsMapSettings, QgsRasterLayer, QgsRectangle
from qgis.PyQt.QtCore import QSize, Qt
from qgis.PyQt.QtGui import QColor

uri, x, y = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
QgsApplication.setPrefixPath("/usr", True)
app = QgsApplication([], False)
app.initQgis()
layer = QgsRasterLayer(uri, "layer", "wms")
if not layer.isValid():
    sys.exit(f"QGIS cannot open it: {layer.error().message()}")
settings = QgsMapSettings()
settings.setLayers([layer])
settings.setDestinationCrs(layer.crs())
settings.setExtent(QgsRectangle(x - 800000, y - 800000, x + 800000, y + 800000))
settings.setOutputSize(QSize(200, 200))
settings.setBackgroundColor(QColor(Qt.transparent))
job = QgsMapRendererParallelJob(settings)
job.start()
job.waitForFinished()
pixel = job.renderedImage().pixelColor(100, 100)
print(
    json.dumps({"crs": layer.crs().authid(), "middle": [pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()]}),
    flush=True,
)
os._exit(0)
