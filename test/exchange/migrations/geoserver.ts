import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { type Json, type Remote, sendJson, startRemote } from '../remote/support.js';
import { tileCacheDocuments } from './geoserver-tile-cache.js';

/** A small server that answers as the public documentation of GeoServer's REST API says, with the ways of its JSON. */

export const USER = 'admin';
export const PASSWORD = 'pass-9f3c';
const ROOT = '/geoserver/rest';
const TILE_CACHE = '/geoserver/gwc/rest';
/** Where nothing may be asked: links of the answers lead there. */
const ELSEWHERE = 'http://127.0.0.3:1/geoserver/rest';

export interface GeoServer extends Remote {
  readonly restUrl: string;
  /** Documents by their paths below the root, without `.json`. */
  readonly documents: Record<string, unknown>;
  /** Texts of styles by their paths, with `.sld`. */
  readonly texts: Record<string, string>;
  /** Documents of the tile cache by their paths below its root, with `.xml`. */
  readonly tileCache: Record<string, string>;
  /** Answers in the place of a document when it returns true; paths of the tile cache begin with `gwc/`. */
  breaking: ((path: string, response: ServerResponse) => boolean) | undefined;
  /** Answers outside of the REST API: WFS, WCS, WMS. */
  serve: ((url: URL, response: ServerResponse) => void) | undefined;
  /** Values of the header that were sent. */
  readonly authorizations: (string | undefined)[];
}

export async function startGeoServer(): Promise<GeoServer> {
  const documents = documentsOf();
  const texts = textsOf();
  const tileCache = tileCacheDocuments();
  const authorizations: (string | undefined)[] = [];
  const remote = await startRemote((url, response, { headers }) => {
    const { pathname } = url;
    authorizations.push(headers.authorization);
    if (headers.authorization !== `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`)
      return void response.writeHead(401, { 'content-type': 'text/html' }).end('<html>401</html>');
    if (pathname.startsWith(TILE_CACHE)) {
      const path = decodeURIComponent(pathname.slice(TILE_CACHE.length + 1));
      if (geoServer.breaking?.(`gwc/${path}`, response)) return;
      if (tileCache[path] === undefined) return void response.writeHead(404).end();
      return void response.writeHead(200, { 'content-type': 'application/xml' }).end(tileCache[path]);
    }
    if (!pathname.startsWith(ROOT) && geoServer.serve) return geoServer.serve(url, response);
    const path = decodeURIComponent(pathname.slice(ROOT.length + 1));
    if (geoServer.breaking?.(path, response)) return;
    if (texts[path] !== undefined)
      return void response.writeHead(200, { 'content-type': 'application/vnd.ogc.sld+xml' }).end(texts[path]);
    const document = pathname.startsWith(ROOT) && documents[path.replace(/\.json$/, '')];
    if (!document) return void response.writeHead(404).end('No such resource');
    sendJson(response, document);
  });
  const geoServer: GeoServer = {
    ...remote,
    restUrl: remote.url + ROOT,
    documents,
    texts,
    tileCache,
    authorizations,
    breaking: undefined,
    serve: undefined,
  };
  return geoServer;
}

const list = (member: string, entry: string, ...names: (string | number)[]) => ({
  [member]: { [entry]: names.map((name) => ({ name, href: `${ELSEWHERE}/${name}.json` })) },
});
/** A list of one, as that one. */
const alone = (member: string, entry: string, name: string | number) => ({
  [member]: { [entry]: { name, href: `${ELSEWHERE}/${name}.json` } },
});
const attribute = (name: string, binding: string) => ({ name, nillable: true, binding });

function documentsOf(): Record<string, unknown> {
  return {
    'about/version': {
      about: {
        resource: [
          {
            '@name': 'GeoServer',
            'Build-Timestamp': '20-Mar-2025 02:05',
            'Git-Revision': 'abc123',
            Version: '2.27.0',
          },
          { '@name': 'GeoTools', Version: 33.0 },
        ],
      },
    },
    settings: {
      global: {
        settings: { charset: 'UTF-8', numDecimals: 8, contact: { contactEmail: 'x@example.org' } },
        globalServices: true,
      },
    },
    'services/wfs/settings': { wfs: { enabled: true, title: 'Features' } },
    'services/wms/settings': { wms: { enabled: false } },
    'services/wcs/settings': { wcs: { enabled: true } },
    workspaces: list('workspaces', 'workspace', 'topp', 'a b/ü', 2020),
    'workspaces/default': { workspace: { name: 'topp' } },
    'workspaces/topp': { workspace: { name: 'topp', isolated: false } },
    'workspaces/a b/ü': { workspace: { name: 'a b/ü', isolated: true } },
    'workspaces/2020': { workspace: { name: 2020 } },
    'workspaces/topp/datastores': list('dataStores', 'dataStore', 'pg', 'schemas'),
    'workspaces/topp/datastores/pg': {
      dataStore: {
        ...{ name: 'pg', type: 'PostGIS', enabled: true },
        connectionParameters: {
          entry: [
            { '@key': 'host', $: 'db.example.org' },
            { '@key': 'port', $: 5432 },
            { '@key': 'database', $: 'gis' },
            { '@key': 'passwd', $: 'plain:secret-of-the-store' },
            { '@key': 'user', $: 'gis' },
          ],
        },
      },
    },
    'workspaces/topp/datastores/schemas': {
      dataStore: {
        ...{ name: 'schemas', type: 'Application Schema DataAccess' },
        connectionParameters: {
          entry: { '@key': 'url', $: 'http://bob:hunter2@x.example.org/m.xml?token=t0ken' },
        },
      },
    },
    'workspaces/topp/datastores/pg/featuretypes': list('featureTypes', 'featureType', 'countries', 'names'),
    'workspaces/topp/datastores/pg/featuretypes/countries': {
      featureType: {
        ...{ name: 'countries', nativeName: 'ne_countries', title: 'Countries', abstract: 'All of them' },
        ...{ srs: 'EPSG:4326', enabled: true },
        keywords: { string: ['world', 'borders\\@language=en\\;'] },
        latLonBoundingBox: { minx: -180, maxx: 180, miny: -90, maxy: 84, crs: 'EPSG:4326' },
        attributes: {
          attribute: [
            attribute('geom', 'org.locationtech.jts.geom.MultiPolygon'),
            attribute('name', 'java.lang.String'),
          ],
        },
      },
    },
    'workspaces/topp/datastores/pg/featuretypes/names': {
      featureType: {
        ...{ name: 'names', srs: 'EPSG:4326' },
        attributes: { attribute: attribute('name', 'java.lang.String') },
      },
    },
    'workspaces/topp/datastores/schemas/featuretypes': alone('featureTypes', 'featureType', 'Geology'),
    'workspaces/topp/datastores/schemas/featuretypes/Geology': {
      featureType: {
        ...{ name: 'Geology', srs: 'EPSG:4326' },
        attributes: { attribute: attribute('shape', 'org.locationtech.jts.geom.Geometry') },
      },
    },
    'workspaces/topp/coveragestores': alone('coverageStores', 'coverageStore', 'dem'),
    'workspaces/topp/coveragestores/dem': {
      coverageStore: { name: 'dem', type: 'GeoTIFF', enabled: true, url: 'file:data/dem.tif' },
    },
    'workspaces/topp/coveragestores/dem/coverages': alone('coverages', 'coverage', 'heights'),
    'workspaces/topp/coveragestores/dem/coverages/heights': {
      coverage: {
        ...{ name: 'heights', title: 'Heights', srs: 'EPSG:31985', enabled: true },
        dimensions: { coverageDimension: { name: 'GRAY_INDEX' } },
      },
    },
    'workspaces/a b/ü/datastores': { dataStores: '' },
    'workspaces/a b/ü/coveragestores': { coverageStores: '' },
    'workspaces/2020/datastores': { dataStores: '' },
    'workspaces/2020/coveragestores': { coverageStores: '' },
    layers: list(
      'layers',
      'layer',
      'topp:countries',
      'topp:names',
      'topp:Geology',
      'topp:heights',
      'topp:base map?',
    ),
    'layers/topp:countries': {
      layer: {
        ...{ name: 'countries', type: 'VECTOR' },
        defaultStyle: { name: 'topp:polygon', workspace: 'topp' },
        styles: { '@class': 'linked-hash-set', style: { name: 'broken' } },
        resource: { '@class': 'featureType', name: 'topp:countries', href: `${ELSEWHERE}/x.json` },
        attribution: { title: 'Natural Earth', href: 'https://example.org', logoWidth: 0 },
      },
    },
    'layers/topp:names': {
      layer: { name: 'names', type: 'VECTOR', resource: { '@class': 'featureType', name: 'topp:names' } },
    },
    'layers/topp:Geology': {
      layer: { name: 'Geology', type: 'VECTOR', resource: { '@class': 'featureType', name: 'topp:Geology' } },
    },
    'layers/topp:heights': {
      layer: { name: 'heights', type: 'RASTER', resource: { '@class': 'coverage', name: 'topp:heights' } },
    },
    'layers/topp:base map?': {
      layer: { name: 'base map?', type: 'WMS', resource: { '@class': 'wmsLayer', name: 'topp:base map?' } },
    },
    layergroups: { layerGroups: '' },
    'workspaces/topp/layergroups': alone('layerGroups', 'layerGroup', 'world'),
    'workspaces/topp/layergroups/world': {
      layerGroup: {
        ...{ name: 'world', mode: 'SINGLE', title: 'World' },
        publishables: {
          published: [
            { '@type': 'layer', name: 'topp:countries' },
            { '@type': 'layer', name: 'topp:Geology' },
          ],
        },
        styles: { style: ['', { name: 'polygon', workspace: 'topp' }] },
      },
    },
    'workspaces/a b/ü/layergroups': { layerGroups: '' },
    'workspaces/2020/layergroups': { layerGroups: '' },
    styles: list('styles', 'style', 'broken', 'themed'),
    'styles/broken': { style: { name: 'broken', format: 'sld', filename: 'broken.sld' } },
    'styles/themed': { style: { name: 'themed', format: 'css', filename: 'themed.css' } },
    'workspaces/topp/styles': alone('styles', 'style', 'polygon'),
    'workspaces/topp/styles/polygon': {
      style: {
        name: 'polygon',
        format: 'sld',
        languageVersion: { version: '1.0.0' },
        filename: 'polygon.sld',
      },
    },
    'workspaces/a b/ü/styles': { styles: '' },
    'workspaces/2020/styles': { styles: '' },
  } satisfies Json;
}

function textsOf(): Record<string, string> {
  const roads = new URL('../../styles/fixtures/geoserver-roads-1.0.sld', import.meta.url);
  return {
    'styles/broken.sld': '<StyledLayerDescriptor><NamedLayer>',
    'workspaces/topp/styles/polygon.sld': readFileSync(roads, 'utf8'),
  };
}
