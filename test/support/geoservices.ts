import { execFileSync } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { exactNumber } from '../../src/core/values/exact-number.js';
import { type Json, type Remote, sendJson, startRemote } from '../exchange/remote/support.js';

/** A server of GeoServices REST over polygons of a file, as the public reference describes it: queries by POST, pages, ids and counts. */
export interface GeoServicesRemote extends Remote {
  /** Forms of the queries, in their order. */
  readonly queries: Record<string, string>[];
  /** How many features there are. */
  readonly total: number;
  /** Members that replace those of the layer. */
  layer: Json;
  /** Relationships of layers 0 and 1, which have the same features. */
  relationships: Json[][];
  /** By the object ids of their features. */
  attachments: Map<number, RemoteAttachment[]>;
  /** Features that one answer has at most. */
  most: number;
  /** Answers in place of the server when it returns true. */
  behaviour: ((query: Record<string, string>, response: ServerResponse) => boolean) | undefined;
  /** Changes an answer with features on its way. */
  change: (answer: Json) => Json;
}

export interface RemoteAttachment {
  id: number;
  name: string;
  contentType: string;
  keywords: string;
  bytes: Uint8Array;
  /** As the server says; that of the bytes when absent. */
  size?: number;
}

interface Feature {
  attributes: Json;
  geometry: { rings: number[][][] };
}

export const LAYER_PATH = '/rest/services/Base/Countries/FeatureServer';
const KINDS = ['A', 'B'];

/**
 * A hundred countries of the demo data as GDAL gives them, with a seventh of their positions, and with texts, codes and
 * dates that they do not have.
 */
function countries(): Feature[] {
  const options = [
    '-f',
    'GeoJSON',
    '-limit',
    '100',
    '-nlt',
    'MULTIPOLYGON',
    '-simplify',
    '0.2',
    '-lco',
    'COORDINATE_PRECISION=9',
  ];
  const json = execFileSync('ogr2ogr', [...options, '/vsistdout/', 'demo/data/world_map.gpkg', 'countries'], {
    maxBuffer: 1 << 28,
  });
  const { features } = JSON.parse(json.toString()) as {
    features: { geometry: { coordinates: number[][][][] } }[];
  };
  return features.map(({ geometry }, i) => ({
    attributes: {
      OBJECTID: 3 * i + 7,
      NAME: `country ${i}`,
      PEOPLE: i * 10,
      KIND: KINDS[i % 2],
      FOUNDED: i === 0 ? null : Date.UTC(1700 + i, 0, 2),
      NOTE: null,
      CODE: '2001-02-03',
    },
    // Exteriors run clockwise here.
    geometry: { rings: geometry.coordinates.flat().map((ring) => [...ring].reverse()) },
  }));
}

const field = (name: string, type: string, more: Json = {}) => ({
  name,
  type: `esriFieldType${type}`,
  alias: name,
  ...more,
});

const fill = (color: number[]) => ({
  type: 'esriSFS',
  style: 'esriSFSSolid',
  color,
  outline: { type: 'esriSLS', style: 'esriSLSSolid', color: [0, 0, 0, 255], width: 1 },
});

const LAYER: Json = {
  id: 0,
  name: 'Countries',
  type: 'Feature Layer',
  description: 'Countries of the world',
  geometryType: 'esriGeometryPolygon',
  objectIdField: 'OBJECTID',
  maxRecordCount: 30,
  extent: { xmin: -180, ymin: -90, xmax: 180, ymax: 90, spatialReference: { wkid: 4326 } },
  fields: [
    field('OBJECTID', 'OID'),
    field('NAME', 'String', { alias: 'Name of the country' }),
    field('PEOPLE', 'Double', { domain: { type: 'range', name: 'people', range: [0, 1000] } }),
    field('KIND', 'String', {
      domain: {
        type: 'codedValue',
        name: 'kinds',
        codedValues: KINDS.map((code) => ({ code, name: `Kind ${code}` })),
      },
    }),
    field('FOUNDED', 'Date'),
    field('NOTE', 'BigInteger', {
      domain: {
        type: 'codedValue',
        name: 'notes',
        codedValues: [
          { code: exactNumber('1152921504606846977'), name: 'first' },
          { code: exactNumber('1152921504606846979'), name: 'second' },
        ],
      },
    }),
    field('CODE', 'String'),
  ],
  drawingInfo: {
    renderer: {
      type: 'uniqueValue',
      field1: 'KIND',
      uniqueValueInfos: KINDS.map((value, i) => ({ value, symbol: fill([250 * i, 10, 20, 255]) })),
    },
  },
};

export async function startGeoServices(): Promise<GeoServicesRemote> {
  const features = countries();
  const remote = await startRemote((url, response, request) => void answer(url, response, request));
  const server: GeoServicesRemote = Object.assign(remote, {
    queries: [],
    total: features.length,
    layer: {},
    relationships: [],
    attachments: new Map<number, RemoteAttachment[]>(),
    most: 30,
    behaviour: undefined,
    change: (page: Json) => page,
  });
  async function answer({ pathname }: URL, response: ServerResponse, request: IncomingMessage) {
    const form = Object.fromEntries(new URLSearchParams(await text(request)));
    server.queries.push(form);
    if (server.behaviour?.(form, response)) return;
    if (/queryAttachments$/.test(pathname)) return sendJson(response, listOf(form));
    const [, feature, attachment] = /\/(\d+)\/attachments\/(\d+)$/.exec(pathname) ?? [];
    if (feature !== undefined) return sendBytes(Number(feature), Number(attachment), response);
    if (pathname === LAYER_PATH)
      return sendJson(response, { layers: [{ ...LAYER, ...server.layer }], tables: [] });
    const [, id, query] = /^\/([01])(\/query)?$/.exec(pathname.replace(LAYER_PATH, '')) ?? [];
    if (id !== undefined && query === undefined)
      return sendJson(response, {
        ...{ ...LAYER, id: Number(id), relationships: server.relationships[Number(id)] ?? [] },
        ...server.layer,
      });
    if (query === undefined) return sendJson(response, { error: { code: 404, message: 'Not found' } });
    if (form['returnCountOnly']) return sendJson(response, { count: selected(form).length });
    if (form['returnIdsOnly']) {
      const objectIds = selected(form).map(({ attributes }) => attributes['OBJECTID']);
      return sendJson(response, { objectIdFieldName: 'OBJECTID', objectIds: objectIds.reverse() });
    }
    const ids = new Set(form['objectIds']!.split(',').map(Number));
    const page = features.filter(({ attributes }) => ids.has(attributes['OBJECTID'] as number));
    sendJson(
      response,
      server.change({
        spatialReference: { wkid: Number(form['outSR']) },
        features: page.slice(0, server.most),
      }),
    );
  }
  function listOf({ objectIds }: Record<string, string>): Json {
    const ids = objectIds!.split(',').map(Number);
    const attachmentGroups = ids.flatMap((parentObjectId) => {
      const list = server.attachments.get(parentObjectId) ?? [];
      const attachmentInfos = list.map(({ bytes, size = bytes.length, ...info }) => ({ ...info, size }));
      return list.length > 0 ? [{ parentObjectId, attachmentInfos }] : [];
    });
    return { attachmentGroups };
  }
  function sendBytes(feature: number, id: number, response: ServerResponse): void {
    const attachment = server.attachments.get(feature)?.find((one) => one.id === id);
    if (!attachment) return sendJson(response, { error: { code: 404, message: 'Not found' } });
    response.writeHead(200, { 'content-type': attachment.contentType }).end(attachment.bytes);
  }
  function selected({ where }: Record<string, string>): Feature[] {
    if (where === '1=1') return features;
    const [, kind] = /^KIND = '(\w)'$/.exec(where!) ?? [];
    return features.filter(({ attributes }) => attributes['KIND'] === kind);
  }
  return server;
}
