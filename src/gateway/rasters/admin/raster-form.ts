import Type from 'typebox';
import { badMember } from '../../../core/errors/errors.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { RASTER_LIMITS } from '../../../core/rasters/limits.js';
import type { RasterInfo } from '../../../core/rasters/rasters.js';
import { findEpsgCrs } from '../../../native/crs.js';
import { describeCrs } from '../../../native/index.js';
import { namingReceived } from '../../http/requests/received-value.js';

/** Fields of the raster import form other than the file. */
export interface RasterForm {
  layerId: number;
  name: string;
  description: string | null;
  /** Any definition that PROJ reads, for a file without a CRS. */
  crs?: string;
  /** From a world file, for a file without a geotransform. */
  geoTransform?: RasterInfo['geoTransform'];
  /** RFC 3339. */
  acquired: string | null;
  /** Zoom levels of WebMercatorQuad to make tiles of, ascending. */
  zooms: number[];
}

const USUAL_ZOOMS = '0,1,2,3,4,5,6,7,8';
const INT32 = 2_147_483_647;

/** Documents the form; its members bind in any case. */
export const RasterFormSchema = Type.Object({
  file: Type.String({ format: 'binary', description: '.tif, .tiff, .png, .jpg or .jpeg.' }),
  layerId: Type.Integer({
    minimum: 1,
    description: 'Layer that the raster joins; the id of none makes a new layer with that id.',
  }),
  name: Type.String({ minLength: 1, maxLength: 256 }),
  description: Type.Optional(Type.String({ maxLength: 4000 })),
  srid: Type.Optional(Type.Integer({ description: 'EPSG code when the file names no CRS.' })),
  acquisitionDate: Type.Optional(Type.String({ description: 'Date or date-time (RFC 3339).' })),
  tileZoomLevels: Type.Optional(
    Type.String({ default: USUAL_ZOOMS, description: 'Levels whose tiles are made ahead, 0 to 24.' }),
  ),
  worldFile: Type.Optional(Type.String({ description: 'World file of a PNG or JPEG.' })),
  prjFile: Type.Optional(Type.String({ description: 'WKT of the CRS, when the file names none.' })),
});

/** Parts of the form that may come as files. */
export const TEXT_PARTS: ReadonlySet<string> = new Set(['worldfile', 'prjfile']);

/** `fields` has lower case names. Throws 400 naming the first wrong field. */
export function parseRasterForm(fields: ReadonlyMap<string, string>): RasterForm {
  return namingReceived(
    (name) => fields.get(name.toLowerCase()),
    () => readForm(fields),
  );
}

function readForm(fields: ReadonlyMap<string, string>): RasterForm {
  const field = (name: string) => fields.get(name.toLowerCase())?.trim() || undefined;
  const layerId = field('layerId') ?? wrong('layerId', 'is required');
  if (!/^\d{1,10}$/.test(layerId) || Number(layerId) < 1 || Number(layerId) > INT32)
    wrong('layerId', `must be an integer from 1 to ${INT32}`);
  const name = field('name') ?? wrong('name', 'is required');
  const crs = findCrs(field('srid'), field('prjFile'));
  const worldFile = field('worldFile');
  const acquired = field('acquisitionDate');
  return {
    layerId: Number(layerId),
    name: atMost('name', name, 256),
    description: atMost('description', field('description') ?? '', 4000) || null,
    ...(crs === undefined ? {} : { crs }),
    ...(worldFile === undefined ? {} : { geoTransform: readWorldFile(worldFile) }),
    acquired: acquired === undefined ? null : instant('acquisitionDate', acquired),
    zooms: listZooms(field('tileZoomLevels') ?? USUAL_ZOOMS),
  };
}

/** A date or date-time as an instant in UTC; a date is read as its midnight. Throws 400 with the name `name`. */
export function instant(name: string, raw: string): string {
  const pattern = /^\d{4}-\d{2}-\d{2}([Tt ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?([Zz]|[+-]\d{2}:\d{2})?)?$/;
  const zoned = /([Zz]|[+-]\d{2}:\d{2})$/.test(raw.slice(10)) || raw.length === 10 ? raw : `${raw}Z`;
  const value = pattern.test(raw) ? Date.parse(zoned) : Number.NaN;
  if (Number.isNaN(value))
    wrong(name, 'must be a date or a date-time, for example 2026-01-31 or 2026-01-31T12:00:00Z');
  return new Date(value).toISOString().replace('.000Z', 'Z');
}

/** Checks the length of a text. */
export function atMost(name: string, text: string, length: number): string {
  if (text.length > length) wrong(name, `must have at most ${length} characters`);
  return text;
}

function findCrs(srid: string | undefined, prj: string | undefined): string | undefined {
  if (srid !== undefined) {
    const crs = /^\d{1,7}$/.test(srid) ? findEpsgCrs(Number(srid)) : undefined;
    return crs?.proj ?? wrong('srid', 'must be an EPSG code, for example 4326');
  }
  if (prj === undefined) return undefined;
  if (prj.length > RASTER_LIMITS.sidecarBytes)
    wrong('prjFile', `must have at most ${RASTER_LIMITS.sidecarBytes} characters`);
  if (!/^[A-Z_]+\s*\[/i.test(prj)) wrong('prjFile', 'must be the WKT of a coordinate reference system');
  try {
    describeCrs(prj);
    return prj;
  } catch {
    return wrong('prjFile', 'must be the WKT of a coordinate reference system');
  }
}

/** Six lines: sizes and rotations of a pixel, then the centre of the one at the top left. */
function readWorldFile(text: string): RasterInfo['geoTransform'] {
  const numbers = text.split(/\s+/).map((line) => Number(line.replace(',', '.')));
  const [a, d, b, e, c, f] = numbers as [number, number, number, number, number, number];
  if (numbers.length !== 6 || !numbers.every(Number.isFinite))
    wrong('worldFile', 'must be six lines of numbers');
  if (a * e - b * d === 0) wrong('worldFile', 'must describe pixels with an area');
  return [c - (a + b) / 2, a, b, f - (d + e) / 2, d, e];
}

function listZooms(raw: string): number[] {
  const parts = raw.split(',').map((part) => part.trim());
  const zooms = parts.map((part) => (/^\d{1,2}$/.test(part) ? Number(part) : Number.NaN));
  if (!zooms.every((zoom) => zoom <= LIMITS.tileZoom))
    wrong('tileZoomLevels', `must be integers from 0 to ${LIMITS.tileZoom}, separated by commas`);
  return [...new Set(zooms)].sort((a, b) => a - b);
}

function wrong(name: string, detail: string): never {
  throw badMember(name, detail);
}
