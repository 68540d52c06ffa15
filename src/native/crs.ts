import { badParameter } from '../core/errors/errors.js';
import { CRS84, CRS84H, type Crs, type CrsFacts, OWN_CRS_PATH } from '../core/geometry/crs.js';
import { contentTag } from '../core/http/content-tag.js';
import { describeCrs, readCrs } from './index.js';

/** Coordinate reference systems by the names that clients and data give them, as PROJ's database has them. */

/** Maximum number of cached EPSG codes, which are client input. */
const MAX_CODES = 10_000;

/** CRS by EPSG code; null for codes that PROJ does not have. */
const byCode = new Map<number, Crs | null>();

/** The CRS of an EPSG code, or undefined when PROJ does not have it. */
export function findEpsgCrs(epsg: number): Crs | undefined {
  const before = byCode.get(epsg);
  if (before !== undefined) return before ?? undefined;
  const facts = findFacts(epsg);
  const crs: Crs | null = facts
    ? { uri: `http://www.opengis.net/def/crs/EPSG/0/${epsg}`, proj: `EPSG:${epsg}`, epsg, ...facts }
    : null;
  if (byCode.size < MAX_CODES) byCode.set(epsg, crs);
  return crs ?? undefined;
}

function findFacts(epsg: number): CrsFacts | undefined {
  try {
    const { isGeographic, axisSwapped } = describeCrs(`EPSG:${epsg}`);
    return { geographic: isGeographic, northFirst: axisSwapped };
  } catch {
    return undefined;
  }
}

/** Whether positions of a CRS have an x and a y. Vertical, temporal and geocentric CRSs do not. */
export function isHorizontal({ proj }: Crs): boolean {
  return isHorizontalWkt(describeCrs(proj).wkt);
}

const isHorizontalWkt = (wkt: string) => !/^(VERT|TIME)CRS\[|^GEODCRS\[.*CS\[Cartesian,3\]/s.test(wkt);

/** Members of WKT that name files, which PROJ would open. */
const FILES = /PARAMETERFILE|EXTENSION/i;

/** Returns the horizontal CRS that a client defines as WKT. Undefined for other text. */
export function parseWktCrs(wkt: string): Crs | undefined {
  if (!/^\s*\w+\s*[[(]/.test(wkt) || FILES.test(wkt)) return undefined;
  try {
    const description = readCrs(wkt);
    const { isGeographic, axisSwapped } = description;
    if (!isHorizontalWkt(description.wkt)) return undefined;
    return { uri: '', proj: wkt, epsg: 0, geographic: isGeographic, northFirst: axisSwapped };
  } catch {
    return undefined;
  }
}

/** CRSs of published data without a code of an authority, by id. */
const byId = new Map<string, Crs>();

/** Returns the CRS that data defines without a code. PROJ reads `text`, and `wkt` distinguishes the CRS. */
export function ownCrs(text: string, wkt: string, facts: CrsFacts): Crs {
  const id = contentTag(wkt);
  let crs = byId.get(id);
  if (!crs) byId.set(id, (crs = { uri: `${OWN_CRS_PATH}/${id}`, proj: text, epsg: 0, ...facts }));
  return crs;
}

export function ownCrsById(id: string): Crs | undefined {
  return byId.get(id);
}

const PATTERNS = [
  /^https?:\/\/www\.opengis\.net\/def\/crs\/EPSG\/[\d.]+\/(\d{1,6})$/i,
  /^urn:ogc:def:crs:EPSG:[\d.]*:(\d{1,6})$/i,
  /^\[?EPSG:(\d{1,6})\]?$/i,
  /^(\d{4,6})$/,
];

const OWN_PATTERN = /\/ogc\/crs\/([0-9a-f]{16})$/;

const CRS84_PATTERN =
  /^(https?:\/\/www\.opengis\.net\/def\/crs\/OGC\/(1\.3|0)\/CRS84h?|urn:ogc:def:crs:OGC:(1\.3)?:CRS84h?|\[?OGC:CRS84h?\]?|CRS84)$/i;

/** Reads a CRS as clients write it. Undefined when it is malformed or unknown. */
export function parseCrs(text: string): Crs | undefined {
  const trimmed = text.trim().replace(/^<|>$/g, '');
  if (CRS84_PATTERN.test(trimmed)) return /84h\]?$/i.test(trimmed) ? CRS84H : CRS84;
  for (const pattern of PATTERNS) {
    const match = pattern.exec(trimmed);
    if (match) return findEpsgCrs(Number(match[1]));
  }
  const id = OWN_PATTERN.exec(trimmed)?.[1];
  return id === undefined ? undefined : byId.get(id);
}

/** Same as `parseCrs`, but throws 400 naming the parameter. */
export function resolveCrs(parameter: string, text: string): Crs {
  const crs = parseCrs(text);
  if (!crs)
    throw badParameter(
      parameter,
      `'${text.slice(0, 120)}' is not a known coordinate reference system. Use for example EPSG:4326 or http://www.opengis.net/def/crs/EPSG/0/3857`,
    );
  return crs;
}
