import { buildCrsUri, type Crs } from '../../../core/geometry/crs.js';
import type { Markup } from '../../../core/values/html.js';
import { type CrsDescription, describeCrs, readCrs } from '../../../native/index.js';
import { anchor } from '../links.js';
import { crsName } from '../values.js';

/** A link to a CRS. A CRS without an authority code has the name in its definition. */
export function renderCrs(crs: Crs, baseUrl: string): Markup {
  const uri = buildCrsUri(crs, baseUrl);
  const name = crs.epsg > 0 ? undefined : /"([^"]+)"/.exec(describe(crs)?.wkt ?? '')?.[1];
  return anchor(uri, name ?? crsName(uri));
}

const LENGTHS = [
  [1, 'm'],
  [1000, 'km'],
  [0.3048, 'ft'],
  [1200 / 3937, 'US survey ft'],
] as const;

/** The unit of coordinates: `°`, `m`, `ft`. */
export function formatCoordinateUnit(crs: Crs): string {
  if (crs.geographic) return '°';
  const metres = crs.isPlane ? undefined : describe(crs)?.metresPerUnit;
  if (metres === undefined) return 'units';
  const known = LENGTHS.find(([length]) => Math.abs(metres / length - 1) < 1e-9);
  return known?.[1] ?? `units of ${metres} m`;
}

function describe({ epsg, proj }: Crs): CrsDescription | undefined {
  try {
    return epsg > 0 ? describeCrs(proj) : readCrs(proj);
  } catch {
    return undefined;
  }
}
