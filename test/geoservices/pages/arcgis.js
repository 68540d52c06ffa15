import config from '@arcgis/core/config.js';
import * as reactiveUtils from '@arcgis/core/core/reactiveUtils.js';
import Graphic from '@arcgis/core/Graphic.js';
import Extent from '@arcgis/core/geometry/Extent.js';
import Point from '@arcgis/core/geometry/Point.js';
import SpatialReference from '@arcgis/core/geometry/SpatialReference.js';
import identityManager from '@arcgis/core/identity/IdentityManager.js';
import FeatureLayer from '@arcgis/core/layers/FeatureLayer.js';
import ImageryLayer from '@arcgis/core/layers/ImageryLayer.js';
import MapImageLayer from '@arcgis/core/layers/MapImageLayer.js';
import TileLayer from '@arcgis/core/layers/TileLayer.js';
import VectorTileLayer from '@arcgis/core/layers/VectorTileLayer.js';
import WCSLayer from '@arcgis/core/layers/WCSLayer.js';
import ArcGisMap from '@arcgis/core/Map.js';
import { find } from '@arcgis/core/rest/find.js';
import * as geometryService from '@arcgis/core/rest/geometryService.js';
import * as geoprocessor from '@arcgis/core/rest/geoprocessor.js';
import { identify } from '@arcgis/core/rest/identify.js';
import * as locator from '@arcgis/core/rest/locator.js';
import BufferParameters from '@arcgis/core/rest/support/BufferParameters.js';
import ProjectParameters from '@arcgis/core/rest/support/ProjectParameters.js';
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

/** Draws a layer of features, and tells what the view holds and what the layer answers, in a format of queries. */
window.readFeatures = async (properties, window, supportedQueryFormats) => {
  const after = ({ data }) => Object.assign(data, { supportedQueryFormats });
  config.request.interceptors = [{ urls: properties.url, after }];
  const layer = new FeatureLayer({ outFields: ['*'], ...properties });
  const layerView = await show(layer, window);
  config.request.interceptors = [];
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

/** What a layer answers to queries of one sort, each by its method. */
window.query = async (properties, method, query) => {
  const answer = await new FeatureLayer(properties)[method](query);
  return answer.features?.map(({ attributes }) => attributes) ?? answer;
};

/** Edits of a layer; features are Esri's JSON. */
window.applyEdits = async (properties, { addFeatures = [], updateFeatures = [], deleteFeatures = [] }) => {
  const graphics = (features) => features.map((feature) => Graphic.fromJSON(feature));
  const layer = new FeatureLayer(properties);
  await layer.load();
  const edits = {
    addFeatures: graphics(addFeatures),
    updateFeatures: graphics(updateFeatures),
    deleteFeatures,
  };
  const { addFeatureResults, updateFeatureResults, deleteFeatureResults } = await layer.applyEdits(edits);
  return [...addFeatureResults, ...updateFeatureResults, ...deleteFeatureResults].map(
    ({ objectId, error }) => ({
      objectId,
      error: error?.message ?? null,
    }),
  );
};

/** What a locator says of an address, of the beginning of one, and of a place in degrees. */
window.locate = async (url, SingleLine, text, [x, y]) => {
  const [suggestion] = await locator.suggestLocations(url, { text });
  const { magicKey } = suggestion;
  const [candidate] = await locator.addressToLocations(url, { address: { SingleLine } });
  const [candidateOfKey] = await locator.addressToLocations(url, { address: { SingleLine: text }, magicKey });
  const place = await locator.locationToAddress(url, { location: new Point({ x, y }) });
  const { address, score, location } = candidate;
  return {
    ...{ address, score, location: [location.x, location.y] },
    ...{ suggestion: suggestion.text, candidateOfKey: candidateOfKey.address, place: place.address },
  };
};

/** A place in another spatial reference, and the extent of a buffer around it there. */
window.compute = async (url, [x, y], wkid, distance) => {
  const reference = new SpatialReference({ wkid });
  const geometries = [new Point({ x, y })];
  const [point] = await geometryService.project(
    url,
    new ProjectParameters({ geometries, outSpatialReference: reference }),
  );
  const parameters = {
    geometries: [point],
    distances: [distance],
    unit: 'meters',
    outSpatialReference: reference,
  };
  const [buffer] = await geometryService.buffer(url, new BufferParameters(parameters));
  const { width, height } = buffer.extent;
  return { point: [point.x, point.y], width, height };
};

/** The features of a job's result. The task wants a token, which the client sends once it is asked for one. */
window.runTask = async (url, inputs, token) => {
  identityManager.registerToken({
    server: url.slice(0, url.indexOf('/services') + '/services'.length),
    token,
  });
  const job = await geoprocessor.submitJob(url, inputs);
  const { jobStatus } = await job.waitForJobCompletion({ interval: 100 });
  const { value } = await job.fetchResultData('features');
  return {
    jobStatus,
    features: value.features.map(({ attributes, geometry: { type, extent } }) => ({
      ...{ attributes, type },
      extent: extent.toJSON(),
    })),
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

window.find = async (url, parameters) => {
  const { results } = await find(url, parameters);
  return results.map(({ layerId, foundFieldName, feature }) => ({
    ...{ layerId, foundFieldName },
    attributes: feature.attributes,
  }));
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
