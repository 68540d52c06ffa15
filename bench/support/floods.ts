import { request } from 'node:http';
import { connect } from 'node:net';

/** What callers without a key, or with a weak one, send to take a server away from the others. */

export interface Shot {
  path: string;
  method?: 'GET' | 'POST';
  /** A form. */
  body?: string;
  headers?: Record<string, string>;
}

export interface Flood {
  name: string;
  about: string;
  connections: number;
  /** The request of a number, from 0. */
  shot(i: number): Shot;
  /** Sends without reading, instead of waiting for responses. */
  neverReads?: boolean;
}

/** Collections that floods ask for, with the numbers of their layers. */
export interface Targets {
  /** A million rows. */
  large: { id: string; layerId: number };
  /** A view that takes five seconds. */
  slowView: string;
  /** A raster of some hundred pixels a side. */
  raster: string;
}

const ITEMS = '/ogc/features/collections';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

export function floodsOf({ large, slowView, raster }: Targets): Flood[] {
  const items = `${ITEMS}/${large.id}/items`;
  const service = '/rest/services/default';
  const like = (i: number) => encodeURIComponent(`name LIKE '%q${i}z%'`);
  const ors = (column: string, i: number) =>
    Array.from({ length: 400 }, (_, n) => `${column} = 'w${i * 400 + n}'`).join(' OR ');
  const likes = (i: number) =>
    Array.from({ length: 350 }, (_, n) => `name LIKE '%${i % 9}${n}'`).join(' OR ');
  const form = (where: string): Shot => ({
    path: `${service}/FeatureServer/${large.layerId}/query`,
    ...{ method: 'POST', headers: FORM },
    body: new URLSearchParams({ where, returnCountOnly: 'true', f: 'json' }).toString(),
  });
  const analyses = [
    `${items.replace('/items', '')}/h3?resolution=9`,
    `${items.replace('/items', '')}/h3?resolution=7`,
    `${service}/FeatureServer/${large.layerId}/generateRenderer?f=json&classificationDef=${encodeURIComponent(
      JSON.stringify({
        type: 'classBreaksDef',
        classificationField: 'height',
        classificationMethod: 'esriClassifyNaturalBreaks',
        breakCount: 20,
      }),
    )}`,
    `${service}/FeatureServer/${large.layerId}/query?f=json&outStatistics=${encodeURIComponent(
      JSON.stringify([{ statisticType: 'stddev', onStatisticField: 'height', outStatisticFieldName: 's' }]),
    )}&groupByFieldsForStatistics=name`,
    `${items.replace('/items', '')}/statistics`,
  ];
  return [
    {
      name: 'LIKE scans',
      about: 'items by patterns that no row has',
      connections: 4,
      shot: (i) => ({ path: `${items}?filter=${like(i)}&limit=10` }),
    },
    {
      name: 'forms of 400 ORs',
      about: 'forms of GeoServices with 400 values',
      connections: 16,
      shot: (i) => form(ors('name', i)),
    },
    {
      name: 'forms of 350 LIKEs',
      about: 'the same with 350 patterns',
      connections: 16,
      shot: (i) => form(likes(i)),
    },
    {
      name: 'large maps',
      about: 'maps of 4096 pixels at 768 dpi',
      connections: 16,
      shot: (i) => ({
        path: `${service}/MapServer/export?bbox=${-180 + (i % 7)},-85,${180 - (i % 7)},85&bboxSR=4326&size=4096,4096&dpi=768&format=png32&transparent=true&f=image`,
      }),
    },
    {
      name: 'analyses',
      about: 'H3 cells, renderers, statistics',
      connections: 16,
      shot: (i) => ({ path: analyses[i % analyses.length]! }),
    },
    {
      name: 'identify',
      about: 'identify over many areas with their geometries',
      connections: 16,
      shot: (i) => ({
        path: `${service}/MapServer/identify?geometry=${-170 + (i % 9)},-80,170,80&geometryType=esriGeometryEnvelope&sr=4326&tolerance=50&mapExtent=-180,-90,180,90&imageDisplay=400,400,96&layers=all&f=json`,
      }),
    },
    {
      name: 'ids',
      about: 'all ids of a large table',
      connections: 16,
      shot: (i) => ({
        path: `${service}/FeatureServer/${large.layerId}/query?where=height%3E${(i % 9) / 1000}&returnIdsOnly=true&f=json`,
      }),
    },
    {
      name: 'scaled coverages',
      about: 'coverages of 30 million pixels of a small raster',
      connections: 8,
      shot: (i) => ({
        path: `/ogc/coverages/collections/${raster}/coverage?scale-factor=${0.0201 + (i % 9) / 100_000}&f=geotiff`,
      }),
    },
    {
      name: 'slow view',
      about: 'items of a database view that takes 5 s',
      connections: 16,
      shot: (i) => ({ path: `${ITEMS}/${slowView}/items?limit=10&offset=${i % 100}` }),
    },
    {
      name: 'never read',
      about: 'tiles that are never read',
      connections: 16,
      shot: () => ({ path: '/ogc/tiles/collections/countries/tiles/WebMercatorQuad/2/1/2' }),
      neverReads: true,
    },
  ];
}

/** What became of a flood, by status; 0 stands for connections that ended. */
export type Tally = Record<number, number>;

/** Addresses that a flood comes from: more than a limit of one address holds back. */
export const ADDRESSES = 4;

/** Sends a flood until it is stopped; resolves with what became of it. */
export async function send(origin: string, flood: Flood, stopped: () => boolean): Promise<Tally> {
  const tally: Tally = {};
  let next = 0;
  const count = (status: number) => {
    tally[status] = (tally[status] ?? 0) + 1;
  };
  const work = async (worker: number) => {
    const localAddress = `127.0.1.${1 + (worker % ADDRESSES)}`;
    while (!stopped()) {
      const shot = flood.shot(next++);
      count(flood.neverReads ? await pour(origin, shot, stopped) : await fire(origin, shot, localAddress));
      // Who is refused at once comes again at once, but leaves the machine a breath.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await Promise.all(Array.from({ length: flood.connections }, (_, i) => work(i)));
  return tally;
}

function fire(
  origin: string,
  { path, method = 'GET', body, headers = {} }: Shot,
  localAddress: string,
): Promise<number> {
  return new Promise((resolve) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    request(
      origin + path,
      { method, headers: { ...headers, ...length }, agent: false, localAddress },
      (response) => {
        let begin = '';
        response.on('data', (bytes: Buffer) => {
          if (begin.length < 100) begin += bytes.toString('latin1', 0, 100);
        });
        // Failures of GeoServices have the status 200.
        const code = () => Number(/^\s*\{"error":\{"code":(\d+)/.exec(begin)?.[1] ?? response.statusCode!);
        response.on('end', () => resolve(code()));
        response.on('error', () => resolve(0));
      },
    )
      .on('error', () => resolve(0))
      .end(body);
  });
}

/** Sends one request again and again on a connection, and reads nothing, until the server ends it. */
function pour(origin: string, { path }: Shot, stopped: () => boolean): Promise<number> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.pause();
    const text = `GET ${path} HTTP/1.1\r\nHost: bench\r\n\r\n`;
    const timer = setInterval(() => {
      if (stopped()) socket.destroy();
      else if (socket.writableLength < 65_536) socket.write(text.repeat(10));
    }, 2);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearInterval(timer);
      resolve(0);
    });
  });
}
