import { execFileSync } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { resolve } from 'node:path';
import { type Json, type Remote, sendJson } from '../remote/support.js';
import type { GeoServer } from './geoserver.js';

/**
 * WFS, WCS and WMS of the GeoServer of the tests, as its documentation shows them: GeoJSON with the ids and the CRS as
 * GeoServer writes them, coverages as `workspace__name`, layers as `workspace:name`. Data as GML, coverages and maps are those
 * of a MapServer behind it.
 */
export interface GeoServerServices {
  /** Features of the types by their names. */
  readonly types: Record<string, { title: string; epsg: number; features: Json[] }>;
  /** Whether the WFS offers GeoJSON. */
  offersJson: boolean;
  /** Changes features of which only a few are asked for. */
  sample: ((features: Json[]) => Json[]) | undefined;
  /** Answers in the place of a service when it returns true. */
  behaviour: ((query: URLSearchParams, response: ServerResponse) => boolean) | undefined;
}

export function addServices(geoServer: GeoServer, mapServer: Remote): GeoServerServices {
  const services: GeoServerServices = {
    types: {
      'topp:countries': { title: 'Countries', epsg: 4326, features: countries(4326, 'countries') },
      'topp:plane': { title: 'Countries in metres', epsg: 3857, features: countries(3857, 'plane') },
    },
    offersJson: true,
    behaviour: undefined,
    sample: undefined,
  };
  geoServer.serve = (url, response) => {
    const query = new URLSearchParams();
    for (const [name, value] of url.searchParams) query.set(name.toUpperCase(), value);
    if (services.behaviour?.(query, response)) return;
    if (url.pathname === '/geoserver/wfs') return wfs(services, query, response, mapServer);
    if (url.pathname === '/geoserver/wcs') return wcs(query, response, mapServer);
    if (url.pathname === '/geoserver/wms') return maps(query, response, mapServer);
    response.writeHead(404).end();
  };
  return services;
}

/** Countries of the demo data with a fifth of their positions, each in one geometry, with ids as GeoServer gives them. */
function countries(epsg: number, type: string): Json[] {
  const sql =
    'SELECT fid + 0 AS key, NAME AS name, iso_a2, fid * 1.5 AS area, geom FROM countries ORDER BY fid';
  const source = resolve('demo/data/world_map.gpkg');
  const args = ['-f', 'GeoJSON', '/vsistdout/', source, '-sql', sql, '-dialect', 'SQLite'];
  const window = ['-t_srs', `EPSG:${epsg}`, '-lco', 'RFC7946=NO', '-clipsrc', '-180', '-85', '180', '85'];
  const text = execFileSync('ogr2ogr', [...args, ...window, '-simplify', '0.1'], {
    maxBuffer: 1 << 28,
    encoding: 'utf8',
  });
  const { features } = JSON.parse(text) as { features: (Json & { properties: Json })[] };
  return features.map(({ geometry, properties: { key, ...properties } }) => ({
    ...{ type: 'Feature', id: `${type}.${key}`, geometry, geometry_name: 'geom', properties },
  }));
}

function wfs(
  { types, offersJson, sample }: GeoServerServices,
  query: URLSearchParams,
  response: ServerResponse,
  mapServer: Remote,
): void {
  const xml = (text: string) => void response.writeHead(200, { 'content-type': 'application/xml' }).end(text);
  if (query.get('REQUEST') === 'GetCapabilities') return xml(capabilities(types, offersJson));
  const name = query.get('TYPENAMES') ?? query.get('TYPENAME') ?? '';
  if (!offersJson) return void pass(query, response, { mapServer, TYPENAMES: name.replace(/^.*:/, '') });
  const features = types[name]?.features ?? [];
  if (query.get('RESULTTYPE') === 'hits')
    return xml(
      `<wfs:FeatureCollection xmlns:wfs="http://www.opengis.net/wfs/2.0" numberMatched="${features.length}" numberReturned="0"/>`,
    );
  const from = Number(query.get('STARTINDEX') ?? 0);
  const size = Number(query.get('COUNT') ?? features.length);
  const window = features.slice(from, from + size);
  const page = size < 10 && sample ? sample(window) : window;
  sendJson(response, {
    ...{ type: 'FeatureCollection', features: page, totalFeatures: features.length },
    ...{ numberMatched: features.length, numberReturned: page.length, timeStamp: '2026-01-01T00:00:00.000Z' },
    crs: { type: 'name', properties: { name: `urn:ogc:def:crs:EPSG::${types[name]?.epsg}` } },
  });
}

function capabilities(types: GeoServerServices['types'], offersJson: boolean): string {
  const formats = ['application/gml+xml; version=3.2', ...(offersJson ? ['application/json'] : [])];
  return `<wfs:WFS_Capabilities version="2.0.0" xmlns:wfs="http://www.opengis.net/wfs/2.0" xmlns:ows="http://www.opengis.net/ows/1.1">
    <ows:OperationsMetadata><ows:Operation name="GetFeature"><ows:Parameter name="outputFormat"><ows:AllowedValues>
    ${formats.map((one) => `<ows:Value>${one}</ows:Value>`).join('')}
    </ows:AllowedValues></ows:Parameter></ows:Operation></ows:OperationsMetadata><FeatureTypeList>
    ${Object.entries(types)
      .map(
        ([name, { title, epsg }]) =>
          `<FeatureType><Name>${name}</Name><Title>${title}</Title><DefaultCRS>urn:ogc:def:crs:EPSG::${epsg}</DefaultCRS></FeatureType>`,
      )
      .join('')}
    </FeatureTypeList></wfs:WFS_Capabilities>`;
}

async function wcs(query: URLSearchParams, response: ServerResponse, mapServer: Remote): Promise<void> {
  const id = query.get('COVERAGEID')?.replace('__', ':').replace(/^.*:/, '');
  await pass(query, response, { mapServer, ...(id === undefined ? {} : { COVERAGEID: id }) }, (text) =>
    text.replaceAll('>heights<', '>topp__heights<'),
  );
}

function maps(query: URLSearchParams, response: ServerResponse, mapServer: Remote): void {
  const LAYERS = (query.get('LAYERS') ?? '').replaceAll(/[^,:]*:/g, '').replace('plane', 'countries');
  void pass(query, response, { mapServer, LAYERS, STYLES: '' });
}

/** MapServer's answer, with its XML in other words where it is to be. */
async function pass(
  query: URLSearchParams,
  response: ServerResponse,
  { mapServer, ...changes }: { mapServer: Remote } & Record<string, unknown>,
  reword: (text: string) => string = (text) => text,
): Promise<void> {
  const sent = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) sent.set(name, String(value));
  const answer = await fetch(`${(mapServer as Remote).url}/?${sent}`);
  const type = answer.headers.get('content-type') ?? 'text/plain';
  const bytes = Buffer.from(await answer.arrayBuffer());
  response.writeHead(answer.status, { 'content-type': type });
  response.end(/xml/.test(type) ? reword(bytes.toString('utf8')) : bytes);
}
