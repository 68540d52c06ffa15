import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { ConfigError } from '../../../core/config/config.js';
import type { StatedCrs } from '../../../core/geometry/stated-crs.js';
import { describeCrs } from '../../../native/index.js';

/** Longest text that a definition of a CRS has. */
const MAX_BYTES = 65_536;

/**
 * Paths of sidecar files that can contain the CRS of a data file: `roads.prj` and `roads.qpj` of `roads.csv`, or
 * `roads.csv.prj`.
 */
export function listSidecars(path: string): string[] {
  const stem = path.slice(0, path.length - extname(path).length);
  return [`${stem}.prj`, `${stem}.qpj`, `${path}.prj`, `${path}.qpj`];
}

/** The CRS in a sidecar file, as WKT or another form that PROJ reads. */
export async function sidecarCrs(path: string): Promise<string | undefined> {
  for (const sidecar of listSidecars(path)) {
    const bytes = await readFile(sidecar).catch(() => undefined);
    if (!bytes || bytes.length > MAX_BYTES) continue;
    const text = bytes.toString('utf8').trim();
    if (isCrs(text)) return text;
  }
  return undefined;
}

/** Throws a `ConfigError` for texts that name no CRS. */
export function requireStatedCrs(stated: StatedCrs): void {
  const problems = Object.entries(stated)
    .filter(([, crs]) => !isCrs(crs))
    .map(
      ([file, crs]) =>
        `data.crs (--crs): '${crs}' for ${file} is not a CRS that PROJ knows. Use a code such as EPSG:27700`,
    );
  if (problems.length > 0) throw new ConfigError(problems);
}

/** Accepts only codes, WKT and PROJ strings, because PROJ could read any other text as a file name. */
const CRS_TEXT = /^(EPSG|OGC|ESRI|IAU|IGNF):[A-Za-z0-9_:]{1,40}$|^\+proj=|^[A-Z_]+\s*\[/i;

/** Whether PROJ knows what a CRS is by this text. */
export function isCrs(text: string): boolean {
  if (!CRS_TEXT.test(text)) return false;
  try {
    describeCrs(text);
    return true;
  } catch {
    return false;
  }
}
