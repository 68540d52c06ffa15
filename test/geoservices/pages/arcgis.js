import config from '@arcgis/core/config.js';
import * as reactiveUtils from '@arcgis/core/core/reactiveUtils.js';
import Extent from '@arcgis/core/geometry/Extent.js';
import FeatureLayer from '@arcgis/core/layers/FeatureLayer.js';
import ImageryLayer from '@arcgis/core/layers/ImageryLayer.js';
import MapImageLayer from '@arcgis/core/layers/MapImageLayer.js';
import TileLayer from '@arcgis/core/layers/TileLayer.js';
import VectorTileLayer from '@arcgis/core/layers/VectorTileLayer.js';
import WCSLayer from '@arcgis/core/layers/WCSLayer.js';
import ArcGisMap from '@arcgis/core/Map.js';
import { identify } from '@arcgis/core/rest/identify.js';
import MapView from '@arcgis/core/views/MapView.js';

config.assetsPath = '/assets';

const LAYERS = { FeatureLayer, ImageryLayer, MapImageLayer, TileLayer, VectorTileLayer, WCSLayer };
const spatialReference = { wkid: 3857 };
const map = new ArcGisMap();
const view = new MapView({
  ...{ container: 'map', map, spatialReference, ui: { components: [] } },
  extent: { xmin: 0, ymin: 0, xmax: 1, ymax: 1, spatialReference },
});

/** Draws one layer alone, and gives its view. */
async function show(layer, [xmin, ymin, xmax, ymax]) {
  map.removeAll();
  map.add(layer);
  const layerView = await view.whenLayerView(layer);
  view.extent = { xmin, ymin, xmax, ymax, spatialReference };
  await reactiveUtils.whenOnce(() => !layerView.suspended && !layerView.updating && !view.updating);
  return layerView;
}

/** A picture of a layer, and the window that it shows: of layers of tiles that of a zoom level. */
window.draw = async (type, properties, window) => {
  await show(new LAYERS[type](properties), window);
  const { dataUrl } = await view.takeScreenshot({ format: 'png' });
  const { xmin, ymin, xmax, ymax } = view.extent;
  return { picture: dataUrl.slice(dataUrl.indexOf(',') + 1), bbox: [xmin, ymin, xmax, ymax] };
};

/** Draws a layer of features, and tells what the view holds and what the layer answers. */
window.readFeatures = async (properties, window) => {
  const layer = new FeatureLayer({ outFields: ['*'], ...properties });
  const layerView = await show(layer, window);
  const { features } = await layer.queryFeatures({ where: '1=1', outFields: ['*'], returnGeometry: true });
  const { count, extent } = await layer.queryExtent();
  return {
    drawn: await layerView.queryFeatureCount(),
    count: await layer.queryFeatureCount(),
    ids: await layer.queryObjectIds(),
    features: features.map(({ attributes, geometry }) => ({ attributes, rings: geometry.rings })),
    ...{ extentCount: count, north: extent.ymax },
  };
};

/** Features of a sublayer that a map is of. */
window.readSublayer = async (properties, where) => {
  const layer = new MapImageLayer(properties);
  await layer.load();
  const sublayer = layer.sublayers.getItemAt(0);
  await sublayer.load();
  const { features } = await sublayer.queryFeatures({ where, outFields: ['*'] });
  return features.map(({ attributes }) => attributes);
};

window.identify = async (url, { geometry, mapExtent, ...parameters }) => {
  const about = {
    geometry: { ...geometry, spatialReference },
    mapExtent: { ...mapExtent, spatialReference },
  };
  const { results } = await identify(url, { ...parameters, ...about });
  return results.map(({ layerId, feature }) => ({ layerId, attributes: feature.attributes }));
};

/** Values of a window, row by row, and whether each is there. */
window.readPixels = async (properties, [xmin, ymin, xmax, ymax], width, height) => {
  const layer = new ImageryLayer(properties);
  await layer.load();
  const { pixelBlock } = await layer.fetchPixels(
    new Extent({ xmin, ymin, xmax, ymax, spatialReference }),
    width,
    height,
  );
  return { values: [...pixelBlock.pixels[0]], mask: pixelBlock.mask && [...pixelBlock.mask] };
};

/** What an image service tells of places, of its rasters, and of all its values. */
window.readImage = async (properties, points) => {
  const layer = new ImageryLayer(properties);
  await layer.load();
  const geometry = { type: 'multipoint', points, spatialReference: { wkid: 4326 } };
  const [x, y] = points[0];
  const { value } = await layer.identify({ geometry: { type: 'point', x, y } });
  const { samples } = await layer.getSamples({ geometry });
  const { features } = await layer.queryRasters({ where: '1=1', returnGeometry: true });
  const { statistics } = await layer.computeStatisticsHistograms({ geometry: layer.fullExtent });
  return {
    value,
    samples: samples.map(({ pixelValue }) => pixelValue[0]),
    rasters: features.length,
    statistics,
  };
};
