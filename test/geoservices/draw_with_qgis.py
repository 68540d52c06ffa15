"""Draws a layer of a map service, or a vector tile service, as QGIS does, and asks what lies at a place. Prints JSON."""

import json
import os
import sys

from qgis.core import (
    QgsApplication,
    QgsMapRendererParallelJob,
    QgsMapSettings,
    QgsPointXY,
    QgsRaster,
    QgsRasterLayer,
    QgsRectangle,
    QgsVectorTileLayer,
)
from qgis.PyQt.QtCore import QSize, Qt
from qgis.PyQt.QtGui import QColor

url, layer_id, x, y = sys.argv[1:]
QgsApplication.setPrefixPath("/usr", True)
app = QgsApplication([], False)
app.initQgis()
is_map = url.endswith("/MapServer")
if url.endswith("/VectorTileServer"):
    layer = QgsVectorTileLayer(f"serviceType=arcgis&type=xyz&url={url}", "layer")
    layer.loadDefaultStyle()
else:
    uri = f"crs='EPSG:3857' format='PNG32' layer='{layer_id}' url='{url}'"
    layer = QgsRasterLayer(uri, "layer", "arcgismapserver")
if not layer.isValid():
    sys.exit(f"QGIS cannot open it: {layer.error().message()}")
place = QgsPointXY(float(x), float(y))
reach = 800000 if not url.endswith("/ImageServer") else 0.08
window = QgsRectangle(place.x() - reach, place.y() - reach, place.x() + reach, place.y() + reach)
settings = QgsMapSettings()
settings.setLayers([layer])
settings.setDestinationCrs(layer.crs())
settings.setExtent(window)
settings.setOutputSize(QSize(200, 200))
settings.setBackgroundColor(QColor(Qt.transparent))
job = QgsMapRendererParallelJob(settings)
job.start()
job.waitForFinished()
image = job.renderedImage()


def colour(column, row):
    pixel = image.pixelColor(column, row)
    return [pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()]




def names_at_place():
    answer = layer.dataProvider().identify(place, QgsRaster.IdentifyFormatFeature, window, 200, 200)
    stores = [store for several in answer.results().values() for store in several]
    features = [feature for store in stores for feature in store.features()]
    return [feature["NAME"] for feature in features if feature.fields().indexOf("NAME") >= 0]


names = names_at_place() if is_map else []
print(
    json.dumps(
        {"crs": layer.crs().authid(), "middle": colour(100, 100), "corner": colour(20, 5), "names": names}
    ),
    flush=True,
)
# Taking the application down is known to crash; what was read has been told.
os._exit(0)
