import type { ArchiveFormat, VectorLayerMetadata } from '../../../../core/tiles/archives.js';
import type { PackagePart, TilePackage } from '../../../../core/tiles/tile-packages.js';
import {
  findXmlAttribute,
  findXmlText,
  getXmlChild,
  listXmlChildren,
  parseXmlDocument,
} from '../../../files/xml.js';
import {
  createArchiveFailure,
  detectImageFormat,
  metadataTexts,
  unsupported,
} from '../../../providers/archive/archive-tile.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { readTile } from './bundled-tile.js';
import {
  type BundledTile,
  bundleAddress,
  INDEX_BYTES,
  OLD_INDEX_BYTES,
  parseBundleIndex,
  readOldBundleTiles,
} from './compact-cache.js';
import { Coverage, computeLevelZooms, declaredExtent, type Tiling } from './tiling.js';
import type { ZippedPackage } from './zip-package.js';

/** Tile packages of ArcGIS: `.tpkx` and `.vtpk` (compact cache 2, described by JSON), and `.tpk` (described by XML). */

/** Names of the two versions, the last part of which is alike in all documents. */
const V2 = 'CompactV2';
const V1 = 'Compact';
const MAX_LAYERS = 1000;

/** Content of a package's documents. */
interface Description {
  tiling: Tiling;
  storageFormat: string;
  /** Folder that contains the bundles. */
  folder: string;
  isVector: boolean;
  extent: { box: unknown; wkid: number | undefined };
  title?: string | undefined;
  description?: string | undefined;
  attribution?: string | undefined;
}

export async function describePackage(zip: ZippedPackage, cancellation: Cancellation): Promise<TilePackage> {
  const about = await loadDescription(zip);
  const zooms = computeLevelZooms(about.tiling);
  const bundles = zip.names
    .filter((name) => name.startsWith(about.folder))
    .flatMap((name) => ({ name, address: bundleAddress(name) }))
    .filter(({ address }) => address !== undefined && zooms.has(address.level))
    .map(({ name, address }) => ({ name, address: address!, zoom: zooms.get(address!.level)! }))
    .sort((a, b) => a.zoom - b.zoom);
  const highest = bundles.at(-1)?.zoom ?? 0;
  const coverage = new Coverage(highest);
  const parts: PackagePart[] = [];
  let sample: Buffer | undefined;
  for (const { name, address, zoom } of bundles) {
    cancellation.check();
    const { level, row, column } = address;
    const tiles = await readBundleIndex(zip, { name, level, row, column }, about.storageFormat);
    if (tiles.length === 0) continue;
    if (tiles.some((tile) => tile.row >= 2 ** zoom || tile.column >= 2 ** zoom))
      throw createArchiveFailure('a bundle has tiles outside the tile matrix');
    parts.push({ name, level, zoom, row, column, tiles: tiles.length });
    if (zoom === highest) for (const tile of tiles) coverage.add(tile);
    sample ??= await zip.asFile(name, (fd) => readTile(fd, tiles[0]!));
  }
  if (!sample) throw unsupported('it has no tiles');
  return {
    format: readFormat(sample, about.isVector),
    storageFormat: about.storageFormat,
    extent84: declaredExtent(about.extent.box, about.extent.wkid) ?? coverage.box,
    ...metadataTexts({ title: about.title, description: about.description, attribution: about.attribution }),
    vectorLayers: about.isVector ? await styledLayers(zip) : [],
    parts,
  };
}

function readFormat(sample: Buffer, isVector: boolean): ArchiveFormat {
  const format = isVector ? 'mvt' : detectImageFormat(sample);
  if (!format || (format === 'mvt') !== isVector)
    throw unsupported('its tiles are of a format that is not served');
  return format;
}

/** Returns the positions of a bundle's tiles in its file. */
export async function readBundleIndex(
  zip: ZippedPackage,
  bundle: Pick<PackagePart, 'name' | 'level' | 'row' | 'column'>,
  storageFormat: string,
): Promise<BundledTile[]> {
  if (storageFormat === V2) return parseBundleIndex(await zip.head(bundle.name, INDEX_BYTES), bundle);
  const index = await zip.head(bundle.name.replace(/\.bundle$/i, '.bundlx'), OLD_INDEX_BYTES);
  return zip.asFile(bundle.name, (fd) => readOldBundleTiles(index, fd, bundle));
}

async function loadDescription(zip: ZippedPackage): Promise<Description> {
  const named = (pattern: RegExp) => zip.names.find((name) => pattern.test(name));
  const root = named(/^(p12\/)?root\.json$/);
  if (root !== undefined) return ofJson(zip, root);
  const conf = named(/(^|\/)conf\.xml$/i);
  if (conf !== undefined) return ofXml(zip, conf);
  throw unsupported('it has neither root.json nor conf.xml');
}

type Json = Record<string, unknown>;

async function ofJson(zip: ZippedPackage, name: string): Promise<Description> {
  const root = parseJson(await zip.document(name), name);
  const item = await loadItem(zip);
  const folder = name.slice(0, -'root.json'.length);
  const isVector = folder !== '';
  const tileInfo = readObject(root['tileInfo']);
  const reference = readObject(tileInfo['spatialReference'] ?? root['spatialReference']);
  const extent = readObject(root['fullExtent'] ?? root['extent'] ?? root['initialExtent']);
  const lods = Array.isArray(tileInfo['lods']) ? tileInfo['lods'] : [];
  const origin = readObject(tileInfo['origin']);
  return {
    tiling: {
      wkid: readWkid(reference),
      origin: { x: Number(origin['x']), y: Number(origin['y']) },
      size: Number(tileInfo['cols'] ?? tileInfo['rows']),
      resolutions: new Map(
        lods.map(readObject).map((lod) => [Number(lod['level']), Number(lod['resolution'])]),
      ),
    },
    storageFormat: chooseStorageFormat(
      root['storageInfo'] ?? readObject(readObject(root['resourceInfo'])['cacheInfo'])['storageInfo'],
    ),
    folder: `${folder}tile/`,
    isVector,
    extent: { box: extent, wkid: readWkid(readObject(extent['spatialReference'])) ?? readWkid(reference) },
    title: findString(item['title'] ?? root['name']),
    description: findString(item['description'] ?? item['snippet']),
    attribution: findString(item['accessInformation'] ?? root['copyrightText']),
  };
}

function chooseStorageFormat(info: unknown): string {
  return formatVersion(findString(readObject(info)['storageFormat']) ?? V2);
}

function formatVersion(storageFormat: string): string {
  const version = [V2, V1].find((one) => storageFormat.toLowerCase().endsWith(one.toLowerCase()));
  if (version === undefined)
    throw unsupported(`its storage format is ${storageFormat.slice(0, 100)}, and not a compact cache`);
  return version;
}

async function loadItem(zip: ZippedPackage): Promise<Json> {
  const name = zip.names.find((one) => /(^|\/)iteminfo\.json$/i.test(one));
  return name === undefined ? {} : parseJson(await zip.document(name), name);
}

function parseJson(bytes: Buffer | undefined, name: string): Json {
  try {
    return readObject(JSON.parse((bytes ?? Buffer.from('{}')).toString('utf8').replace(/^\uFEFF/, '')));
  } catch {
    throw createArchiveFailure(`${name} is not JSON`);
  }
}

function readObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

const findString = (value: unknown) => (typeof value === 'string' ? value : undefined);

function readWkid({ latestWkid, wkid }: Json): number | undefined {
  const code = Number(latestWkid ?? wkid);
  return Number.isInteger(code) && code > 0 ? code : undefined;
}

async function ofXml(zip: ZippedPackage, name: string): Promise<Description> {
  const { root } = parseDocument((await zip.document(name))!, name);
  const cache = getXmlChild(root, 'TileCacheInfo');
  const reference = getXmlChild(cache, 'SpatialReference');
  const code = (node: typeof reference) =>
    Number(findXmlText(node, 'LatestWKID') ?? findXmlText(node, 'WKID')) || undefined;
  const folder = name.slice(0, -'conf.xml'.length);
  const { box, wkid } = await loadExtent(zip, `${folder}conf.cdi`, code);
  return {
    tiling: {
      wkid: code(reference),
      origin: {
        x: Number(findXmlText(cache, 'TileOrigin', 'X')),
        y: Number(findXmlText(cache, 'TileOrigin', 'Y')),
      },
      size: Number(findXmlText(cache, 'TileCols')),
      resolutions: new Map(
        listXmlChildren(getXmlChild(cache, 'LODInfos'), 'LODInfo').map((lod) => [
          Number(findXmlText(lod, 'LevelID')),
          Number(findXmlText(lod, 'Resolution')),
        ]),
      ),
    },
    storageFormat: formatVersion(findXmlText(root, 'CacheStorageInfo', 'StorageFormat') ?? V1),
    folder: `${folder}_alllayers/`,
    isVector: false,
    extent: { box, wkid: wkid ?? code(reference) },
    title: folder.split('/').at(-2),
  };
}

function parseDocument(bytes: Buffer, name: string) {
  try {
    return parseXmlDocument(bytes);
  } catch {
    throw createArchiveFailure(`${name} is not XML`);
  }
}

async function loadExtent(
  zip: ZippedPackage,
  name: string,
  code: (node: ReturnType<typeof getXmlChild>) => number | undefined,
) {
  const bytes = await zip.document(name);
  if (!bytes) return { box: undefined, wkid: undefined };
  const { name: type, root } = parseDocument(bytes, name);
  const envelope =
    /^EnvelopeN$/.test(type) || findXmlAttribute(root, 'type') ? root : getXmlChild(root, 'EnvelopeN');
  const side = (key: string) => findXmlText(envelope, key);
  const box = { xmin: side('XMin'), ymin: side('YMin'), xmax: side('XMax'), ymax: side('YMax') };
  return { box, wkid: code(getXmlChild(envelope, 'SpatialReference')) };
}

/** Returns the layers that the style of a vector package draws. Their attributes are unknown. */
async function styledLayers(zip: ZippedPackage): Promise<VectorLayerMetadata[]> {
  const name = 'p12/resources/styles/root.json';
  const bytes = await zip.document(name);
  if (!bytes) return [];
  const { layers } = parseJson(bytes, name);
  const names = (Array.isArray(layers) ? layers : []).map((layer) => readObject(layer)['source-layer']);
  const unique = new Set(names.filter((one): one is string => typeof one === 'string'));
  return [...unique].slice(0, MAX_LAYERS).map((id) => ({ id, fields: {} }));
}
