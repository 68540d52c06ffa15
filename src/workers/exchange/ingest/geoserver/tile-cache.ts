import type {
  GeoServerCatalog,
  GeoServerGridset,
  GeoServerTileLayer,
} from '../../../../core/exchange/geoserver.js';
import { EXCHANGE_LIMITS } from '../../../../core/exchange/limits.js';
import type { Box } from '../../../../core/geometry/box.js';
import { MAX_MATRICES } from '../../../../core/tiles/tile-matrix/document.js';
import { METRES_PER_DEGREE, PIXEL_METRES } from '../../../../core/tiles/tile-matrix.js';
import { findXmlText, getXmlChild, listXmlChildren, type XmlNode } from '../../../files/xml.js';
import { refused } from '../../../storage/remote/allowed-hosts.js';
import type { GeoServerReader } from './reader.js';

/** Tile cache of a GeoServer (GeoWebCache): its gridsets, and the layers with tiles in them. */

/** Returns gridsets and tile layers. Both are empty if there is no tile cache. */
export async function readTileCache(
  reading: GeoServerReader,
): Promise<Pick<GeoServerCatalog, 'gridsets' | 'tileLayers'>> {
  const names = await reading.tileCache(['gridsets'], /^gridSets$/, (root) => readNames(root, 'gridSet'));
  if (names === undefined) return { gridsets: [], tileLayers: [] };
  if (names.length > EXCHANGE_LIMITS.geoServerGridsets)
    reading.gap(
      ['gwc', 'gridsets'],
      `Only ${EXCHANGE_LIMITS.geoServerGridsets} of ${names.length} gridsets are read.`,
    );
  const gridsets = await reading.each(names.slice(0, EXCHANGE_LIMITS.geoServerGridsets), (name) =>
    reading.tileCache(['gridsets', name], /^gridSet$/, (root) => readGridset(name, root)),
  );
  const ids = (await reading.tileCache(['layers'], /^layers$/, (root) => readNames(root, 'layer'))) ?? [];
  const tileLayers = await reading.each(ids, (id) =>
    reading.tileCache(['layers', id], /Layer$/, (root) => readTileLayer(id, root)),
  );
  return {
    gridsets: gridsets.filter((gridset) => gridset !== undefined),
    tileLayers: tileLayers.filter((layer) => layer !== undefined),
  };
}

const readNames = (list: XmlNode, entry: string): string[] =>
  listXmlChildren(list, entry).flatMap((one) => findXmlText(one, 'name') ?? []);

const readTexts = (list: XmlNode, entry: string): string[] =>
  listXmlChildren(list, entry).flatMap((one) => findXmlText(one) ?? []);

const readNumbers = (list: XmlNode): number[] => readTexts(list, 'double').map(Number);

/** Returns a gridset. Fails with `source-unreadable` for an incomplete definition. */
function readGridset(name: string, gridset: XmlNode): GeoServerGridset {
  const srid = Number(findXmlText(gridset, 'srs', 'number'));
  const metresPerUnit = Number(
    findXmlText(gridset, 'metersPerUnit') ?? (srid === 4326 ? METRES_PER_DEGREE : 1),
  );
  const cells = readCells(gridset, metresPerUnit);
  const names = readTexts(getXmlChild(gridset, 'scaleNames'), 'string');
  const isWhole =
    isPositive(srid) && isPositive(metresPerUnit) && cells.length > 0 && cells.every(isPositive);
  if (!isWhole) throw refused('the gridset has no CRS or no scales');
  if (cells.length > MAX_MATRICES) throw refused(`the gridset has more than ${MAX_MATRICES} scales`);
  return {
    name,
    description: findXmlText(gridset, 'description'),
    srid,
    isNorthFirst: findXmlText(gridset, 'yCoordinateFirst') === 'true',
    box: readBox(gridset),
    isTopLeft: findXmlText(gridset, 'alignTopLeft') === 'true',
    metresPerUnit,
    tileWidth: readTileSide(gridset, 'tileWidth'),
    tileHeight: readTileSide(gridset, 'tileHeight'),
    levels: cells.map((cellSize, i) => ({ name: names[i] ?? `${name}:${i}`, cellSize })),
  };
}

/** A gridset has cells, or the scale denominators of which those follow. */
function readCells(gridset: XmlNode, metresPerUnit: number): number[] {
  const cells = readNumbers(getXmlChild(gridset, 'resolutions'));
  if (cells.length > 0) return cells;
  const pixel = Number(findXmlText(gridset, 'pixelSize') ?? PIXEL_METRES);
  return readNumbers(getXmlChild(gridset, 'scaleDenominators')).map(
    (scale) => (scale * pixel) / metresPerUnit,
  );
}

const isPositive = (number: number) => Number.isFinite(number) && number > 0;

function readBox(gridset: XmlNode): Box {
  const [minx = Number.NaN, miny = Number.NaN, maxx = Number.NaN, maxy = Number.NaN] = readNumbers(
    getXmlChild(gridset, 'extent', 'coords'),
  );
  const isBox = [minx, miny, maxx, maxy].every(Number.isFinite) && minx < maxx && miny < maxy;
  if (!isBox) throw refused('the gridset has no extent');
  return [minx, miny, maxx, maxy];
}

function readTileSide(gridset: XmlNode, name: string): number {
  const side = Number(findXmlText(gridset, name) ?? 256);
  if (!Number.isInteger(side) || side < 1) throw refused(`the gridset has no ${name}`);
  return side;
}

function readTileLayer(id: string, layer: XmlNode): GeoServerTileLayer {
  return {
    id,
    isEnabled: findXmlText(layer, 'enabled') !== 'false',
    formats: readTexts(getXmlChild(layer, 'mimeFormats'), 'string'),
    gridsets: listXmlChildren(getXmlChild(layer, 'gridSubsets'), 'gridSubset').flatMap(
      (one) => findXmlText(one, 'gridSetName') ?? [],
    ),
  };
}
