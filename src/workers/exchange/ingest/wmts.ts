import { setTimeout as pause } from 'node:timers/promises';
import { TaskFailure } from '../../../core/errors/failure.js';
import type {
  RemoteLevel,
  RemoteRequest,
  RemoteTileSet,
  RemoteTilesTask,
} from '../../../core/exchange/ingest.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import { type Box, WEB_MERCATOR_BOUNDS } from '../../../core/geometry/box.js';
import { mapInLanes } from '../../../core/values/lanes.js';
import {
  findOgcException,
  findXmlAttribute,
  findXmlText,
  getXmlChild,
  listXmlChildren,
  parseXmlDocument,
  type XmlNode,
} from '../../files/xml.js';
import { validBounds } from '../../providers/archive/archive-tile.js';
import { refused } from '../../storage/remote/allowed-hosts.js';
import { computeLevelZooms } from '../../tiles/archive/package/tiling.js';
import { capabilitiesUrl, removeOgcParameters, wellAnswered } from './discover/index.js';
import { get, type RemoteAccess } from './http.js';
import { parseSrid } from './json.js';

/** WMTS 1.0.0 (OGC 07-057r7): its contents and its tiles. */

/** Metres of a pixel at a scale of 1:1 (07-057r7, 6.1). */
const PIXEL = 0.00028;
/** Maximum requests for a tile after failures, and the milliseconds between them. */
const TRIES = 3;
const PAUSE_MS = 250;

/** Task `ingest.wmtsPlan`. */
export async function planWmts(
  task: RemoteRequest & { version?: string | undefined },
  asking: RemoteAccess,
): Promise<RemoteTileSet[]> {
  const url = /\.xml$/i.test(new URL(task.url).pathname)
    ? task.url
    : capabilitiesUrl(task.url, 'WMTS', task.version ?? '1.0.0');
  const document = parseXmlDocument(wellAnswered(await get({ ...task, url }, asking), url).bytes);
  const exception = findOgcException(document);
  if (exception !== undefined) throw refused(`it returned: ${exception}`);
  const contents = getXmlChild(document.root, 'Contents');
  const matrixSets = new Map(
    listXmlChildren(contents, 'TileMatrixSet').map((set) => [findXmlText(set, 'Identifier') ?? '', set]),
  );
  if (document.name !== 'Capabilities' || matrixSets.size === 0) throw refused('it is not a WMTS');
  const operation = kvpUrl(document.root) ?? removeOgcParameters(task.url);
  const origin = new URL(task.url).origin;
  return listXmlChildren(contents, 'Layer').flatMap((layer) =>
    listXmlChildren(layer, 'TileMatrixSetLink').map((link) => {
      const set = tileSet(layer, link, { matrixSets, operation });
      const strays = Object.values(set.templates).some((one) => new URL(one).origin !== origin);
      // Credentials are for the server that was named.
      return strays ? { ...set, levels: [], refusal: 'Its tiles lie on another server.' } : set;
    }),
  );
}

interface Offer {
  matrixSets: ReadonlyMap<string, XmlNode>;
  operation: string;
}

function tileSet(layer: XmlNode, link: XmlNode, { matrixSets, operation }: Offer): RemoteTileSet {
  const id = findXmlText(layer, 'Identifier') ?? '';
  const matrixSet = findXmlText(link, 'TileMatrixSet') ?? '';
  const about = {
    layer: id,
    matrixSet,
    title: findXmlText(layer, 'Title'),
    description: findXmlText(layer, 'Abstract'),
    extent84: readExtent(getXmlChild(layer, 'WGS84BoundingBox')) ?? WEB_MERCATOR_BOUNDS,
    styles: listXmlChildren(layer, 'Style').flatMap((style) => findXmlText(style, 'Identifier') ?? []),
    formats: listXmlChildren(layer, 'Format').flatMap((format) => findXmlText(format) ?? []),
  };
  const templates = readTemplates(layer, about.formats, { id, matrixSet, operation });
  try {
    const levels = parseLevels(matrixSets.get(matrixSet) ?? {}, readLimits(link), about.extent84);
    return { ...about, templates, levels };
  } catch (error) {
    if (!(error instanceof TaskFailure)) throw error;
    return { ...about, templates, levels: [], refusal: error.message };
  }
}

function readExtent(box: XmlNode): Box | undefined {
  const corners = ['LowerCorner', 'UpperCorner'].map(
    (corner) => findXmlText(box, corner)?.trim().split(/\s+/) ?? [],
  );
  return validBounds(corners.flat().map(Number));
}

interface Place {
  id: string;
  matrixSet: string;
  operation: string;
}

/** Returns the resource URLs of the layer, or otherwise requests with parameters. */
function readTemplates(layer: XmlNode, formats: readonly string[], { id, matrixSet, operation }: Place) {
  const resources = listXmlChildren(layer, 'ResourceURL').filter(
    (one) => findXmlAttribute(one, 'resourceType') === 'tile',
  );
  const entries = formats.map((format) => {
    const resource = resources.find((one) => findXmlAttribute(one, 'format') === format);
    const template = findXmlAttribute(resource ?? {}, 'template')?.replace(
      /\{TileMatrixSet\}/gi,
      encodeURIComponent(matrixSet),
    );
    // Other dimensions have values that no client selected.
    const isPlain =
      template !== undefined &&
      !/\{(?!Style|TileMatrix|TileRow|TileCol)/i.test(template) &&
      URL.canParse(template);
    return [format, isPlain ? template : kvpTemplate(operation, { LAYER: id, TILEMATRIXSET: matrixSet })];
  });
  return Object.fromEntries(entries) as Record<string, string>;
}

function kvpTemplate(operation: string, parameters: Record<string, string>): string {
  const url = new URL(removeOgcParameters(operation));
  const all = { SERVICE: 'WMTS', REQUEST: 'GetTile', VERSION: '1.0.0', ...parameters };
  for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
  return `${url.href}&STYLE={Style}&FORMAT={Format}&TILEMATRIX={TileMatrix}&TILEROW={TileRow}&TILECOL={TileCol}`;
}

/** Returns the URL of requests with parameters. */
function kvpUrl(root: XmlNode): string | undefined {
  const operations = listXmlChildren(getXmlChild(root, 'OperationsMetadata'), 'Operation');
  const operation = operations.find((one) => findXmlAttribute(one, 'name') === 'GetTile');
  for (const method of listXmlChildren(getXmlChild(operation ?? {}, 'DCP', 'HTTP'), 'Get')) {
    const encodings = listXmlChildren(getXmlChild(method, 'Constraint', 'AllowedValues'), 'Value').map(
      (one) => findXmlText(one),
    );
    const href = findXmlAttribute(method, 'href');
    if (href !== undefined && URL.canParse(href) && (encodings.length === 0 || encodings.includes('KVP')))
      return href;
  }
  return undefined;
}

type Limits = ReadonlyMap<string, Omit<RemoteLevel, 'matrix' | 'zoom'>>;

function readLimits(link: XmlNode): Limits {
  const entries = listXmlChildren(getXmlChild(link, 'TileMatrixSetLimits'), 'TileMatrixLimits').map((one) => {
    const number = (name: string) => Number(findXmlText(one, name));
    const limits = {
      minRow: number('MinTileRow'),
      maxRow: number('MaxTileRow'),
      minColumn: number('MinTileCol'),
      maxColumn: number('MaxTileCol'),
    };
    return [findXmlText(one, 'TileMatrix') ?? '', limits] as const;
  });
  return new Map(entries.filter(([, limits]) => Object.values(limits).every(Number.isSafeInteger)));
}

function parseLevels(set: XmlNode, limits: Limits, extent84: Box): RemoteLevel[] {
  const wkid = parseSrid(findXmlText(set, 'SupportedCRS'));
  const matrices = listXmlChildren(set, 'TileMatrix');
  return matrices
    .map((matrix) => {
      const id = findXmlText(matrix, 'Identifier') ?? '';
      const [x = Number.NaN, y = Number.NaN] = (findXmlText(matrix, 'TopLeftCorner') ?? '')
        .trim()
        .split(/\s+/)
        .map(Number);
      const resolution = Number(findXmlText(matrix, 'ScaleDenominator')) * PIXEL;
      const tiling = { wkid, origin: { x, y }, size: Number(findXmlText(matrix, 'TileWidth')) };
      const zoom = computeLevelZooms({ ...tiling, resolutions: new Map([[0, resolution]]) }).get(0)!;
      return { matrix: id, zoom, ...(limits.get(id) ?? covering(zoom, extent84)) };
    })
    .map((level) => within(level))
    .sort((a, b) => a.zoom - b.zoom);
}

/** Tiles that cover a box in CRS84. */
function covering(zoom: number, [west, south, east, north]: Box) {
  const side = 2 ** zoom;
  const column = (longitude: number) => ((longitude + 180) / 360) * side;
  const row = (latitude: number) =>
    ((1 - Math.asinh(Math.tan((latitude * Math.PI) / 180)) / Math.PI) / 2) * side;
  return {
    minRow: Math.floor(row(north) + 1e-9),
    maxRow: Math.ceil(row(south) - 1e-9) - 1,
    minColumn: Math.floor(column(west) + 1e-9),
    maxColumn: Math.ceil(column(east) - 1e-9) - 1,
  };
}

function within(level: RemoteLevel): RemoteLevel {
  const last = 2 ** level.zoom - 1;
  const clamp = (value: number) => Math.min(Math.max(value, 0), last);
  const { minRow, maxRow, minColumn, maxColumn } = level;
  return {
    ...level,
    minRow: clamp(minRow),
    maxRow: clamp(maxRow),
    minColumn: clamp(minColumn),
    maxColumn: clamp(maxColumn),
  };
}

/** Task `ingest.tiles`. */
export async function fetchTiles(
  { urls, ...request }: RemoteTilesTask,
  asking: RemoteAccess,
): Promise<(Uint8Array | null)[]> {
  return mapInLanes(urls, EXCHANGE_LIMITS.remoteTileRequests, (url) =>
    fetchTile({ ...request, url }, asking),
  );
}

/**
 * Fetches a tile. Status 404 or 204 means that the tile does not exist. Requests are repeated if the server
 * temporarily cannot generate it.
 */
async function fetchTile(request: RemoteRequest, asking: RemoteAccess): Promise<Uint8Array | null> {
  for (let n = 1; ; n++) {
    try {
      const answer = await get(request, asking);
      if (answer.status === 404 || answer.status === 204 || answer.status === 410) return null;
      const { bytes, mediaType } = wellAnswered(answer, request.url);
      if (/xml|html|json/.test(mediaType)) throw refused(`it returned a tile as ${mediaType}`);
      return bytes.length === 0 ? null : bytes;
    } catch (error) {
      const isPassing = error instanceof TaskFailure && error.code === 'store-unavailable';
      if (!isPassing || n === TRIES) throw error;
      await pause(PAUSE_MS * n);
      asking.cancellation.check();
    }
  }
}
