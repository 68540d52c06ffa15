import config from '@arcgis/core/config.js';
import * as reactiveUtils from '@arcgis/core/core/reactiveUtils.js';
import FeatureLayer from '@arcgis/core/layers/FeatureLayer.js';
import ArcGisMap from '@arcgis/core/Map.js';
import MapView from '@arcgis/core/views/MapView.js';

config.assetsPath = '/assets';

/** Draws a layer, and tells what the view holds and what the layer answers. */
window.read = async (url) => {
  const layer = new FeatureLayer({ url, outFields: ['*'] });
  const map = new ArcGisMap({ layers: [layer] });
  const view = new MapView({ container: 'map', map, center: [10, 30], zoom: 1, ui: { components: [] } });
  const layerView = await view.whenLayerView(layer);
  await reactiveUtils.whenOnce(() => !layerView.updating && !view.updating);
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
