import { expect, vi } from 'vitest';
import type { TestServer } from '../../support/server.js';
import { startMapServer } from '../remote/mapserver.js';
import { type CallReply, call, type Json, REMOTE_HOST, type Remote } from '../remote/support.js';
import { type GeoServer, PASSWORD, startGeoServer, USER } from './geoserver.js';
import { addServices, type GeoServerServices } from './geoserver-services.js';

/** What tests of migrations of a GeoServer have in common: a source with data, and a server that may read it. */

export const SECRET = 'env:GEOSERVER_PASSWORD';
export const migrationEnv = {
  SVC_REMOTE__ALLOW: `["${REMOTE_HOST}"]`,
  SVC_JOBS__AT_ONCE: '1',
  SVC_CONNECTIONS__SECRETS: `["${SECRET}"]`,
  GEOSERVER_PASSWORD: PASSWORD,
};

export interface MigrationSource {
  readonly source: GeoServer;
  readonly services: GeoServerServices;
  readonly mapServer: Remote;
  close(): Promise<void>;
}

/** Countries in degrees and in metres, drawn by styles of which one can be read, and a grid of heights. */
export async function startSource(folder: string): Promise<MigrationSource> {
  const mapServer = await startMapServer(folder);
  const source = await startGeoServer();
  const services = addServices(source, mapServer);
  addPlane(source);
  addStyles(source);
  const close = async () => {
    await source.close();
    await mapServer.close();
  };
  return { source, services, mapServer, close };
}

/** One more feature type, in a CRS of metres. */
function addPlane({ documents }: GeoServer): void {
  const listOf = (member: string, entry: string) => (documents[member] as Json)[entry] as Json;
  const types = 'workspaces/topp/datastores/pg/featuretypes';
  (listOf(types, 'featureTypes')['featureType'] as Json[]).push({ name: 'plane' });
  (listOf('layers', 'layers')['layer'] as Json[]).push({ name: 'topp:plane' });
  const { featureType } = documents[`${types}/countries`] as { featureType: Json };
  featureType['latLonBoundingBox'] = { minx: -180, maxx: 180, miny: -85, maxy: 83.64, crs: 'EPSG:4326' };
  documents[`${types}/plane`] = {
    featureType: { ...featureType, name: 'plane', title: 'Plane', srs: 'EPSG:3857' },
  };
  const { layer } = documents['layers/topp:countries'] as { layer: Json };
  documents['layers/topp:plane'] = {
    layer: { ...layer, name: 'plane', resource: { '@class': 'featureType', name: 'topp:plane' } },
  };
}

const LAND = `<StyledLayerDescriptor version="1.0.0" xmlns="http://www.opengis.net/sld"><NamedLayer><Name>land</Name>
  <UserStyle><FeatureTypeStyle><Rule><PolygonSymbolizer>
    <Fill><CssParameter name="fill">#2255cc</CssParameter></Fill>
    <Stroke><CssParameter name="stroke">#2255cc</CssParameter></Stroke>
  </PolygonSymbolizer></Rule></FeatureTypeStyle></UserStyle></NamedLayer></StyledLayerDescriptor>`;

const RAMP = `<StyledLayerDescriptor version="1.0.0" xmlns="http://www.opengis.net/sld"><NamedLayer><Name>ramp</Name>
  <UserStyle><FeatureTypeStyle><Rule><RasterSymbolizer><ColorMap>
    <ColorMapEntry color="#cc2222" quantity="-20000"/><ColorMapEntry color="#cc2222" quantity="20000"/>
  </ColorMap></RasterSymbolizer></Rule></FeatureTypeStyle></UserStyle></NamedLayer></StyledLayerDescriptor>`;

/** Countries are drawn by styles that can be read, and those in metres by one that cannot. */
function addStyles({ documents, texts }: GeoServer): void {
  documents['services/wms/settings'] = { wms: { enabled: true } };
  documents['workspaces/topp/styles'] = {
    styles: { style: [{ name: 'polygon' }, { name: 'land' }, { name: 'Red land' }, { name: 'ramp' }] },
  };
  documents['workspaces/topp/styles/land'] = { style: { name: 'land', format: 'sld', filename: 'land.sld' } };
  texts['workspaces/topp/styles/land.sld'] = LAND;
  documents['workspaces/topp/styles/Red land'] = {
    style: { name: 'Red land', format: 'sld', filename: 'red.sld' },
  };
  texts['workspaces/topp/styles/Red land.sld'] = LAND.replaceAll('#2255cc', '#cc2222');
  documents['workspaces/topp/styles/ramp'] = { style: { name: 'ramp', format: 'sld', filename: 'ramp.sld' } };
  texts['workspaces/topp/styles/ramp.sld'] = RAMP;
  for (const [name, style] of [
    ['countries', 'topp:land'],
    ['plane', 'broken'],
  ] as const) {
    const { layer } = documents[`layers/topp:${name}`] as { layer: Json };
    const styles = name === 'countries' ? { style: [{ name: 'topp:Red land' }] } : '';
    documents[`layers/topp:${name}`] = { layer: { ...layer, defaultStyle: { name: style }, styles } };
  }
  const heights = documents['layers/topp:heights'] as { layer: Json };
  documents['layers/topp:heights'] = {
    layer: { ...heights.layer, styles: { style: [{ name: 'topp:ramp' }, { name: 'topp:Red land' }] } },
  };
}

export interface Layer extends Json {
  sourceLayer: string;
  collectionId: string;
  status: string;
  warnings: string[];
}

export const layersOf = (job: Json) => job['layers'] as Layer[];

export const startMigration = (server: TestServer, source: GeoServer, body: object): Promise<CallReply> =>
  call(server, 'POST', '/import/platform-b/start', {
    ...{ geoServerRestUrl: source.restUrl, username: USER, passwordSecretReference: SECRET },
    applyMode: true,
    ...body,
  });

export const migrationJob = async (server: TestServer, id: unknown): Promise<Json> =>
  (await call(server, 'GET', `/import/platform-b/jobs/${id}`)).body;

export async function endedMigration(server: TestServer, id: unknown): Promise<Json> {
  return vi.waitFor(
    async () => {
      const job = await migrationJob(server, id);
      expect(['Completed', 'Failed', 'Cancelled']).toContain(job['status']);
      return job;
    },
    { timeout: 300_000, interval: 200 },
  );
}
