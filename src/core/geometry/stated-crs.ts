import { basename } from 'node:path';

/**
 * Coordinate reference systems that operators assign to data, by file name (`roads.shp`), end of a path
 * (`city/roads.shp`) or complete path, optionally with `#layer`. They override the CRS of the file.
 */
export type StatedCrs = Readonly<Record<string, string>>;

/** Stated instead of a CRS for data in local units, which has no position on Earth. */
export const LOCAL_CRS = 'local';

/** CRS of data that declares none: what it was taken for, and why. */
export interface AssumedCrs {
  readonly as: 'degrees' | 'plane' | 'guess';
  /** Code of a guessed CRS. */
  readonly crs?: string;
  /** Whether an operator declared local units. */
  readonly isDeclared?: true;
  /** Reason after `because`. Undefined for callers who do not see all features. */
  readonly because?: string;
}

/** Assigned CRS of the layers of a file by name; `''` means all other layers. The longest matching path applies. */
export function findStatedCrs(stated: StatedCrs, path: string): Record<string, string> {
  const byFile = new Map<string, { crs: string; length: number }>();
  for (const [key, crs] of Object.entries(stated)) {
    const [, file, layer = ''] = /^(.*?)(?:#([^#]*))?$/s.exec(key) as unknown as [string, string, string?];
    if (!isOf(path, file)) continue;
    const other = byFile.get(layer);
    if (!other || other.length < file.length) byFile.set(layer, { crs, length: file.length });
  }
  return Object.fromEntries([...byFile].map(([layer, { crs }]) => [layer, crs]));
}

/** An entry of the assigned CRSs. */
export interface StatedCrsEntry {
  readonly key: string;
  readonly crs: string;
}

/** The entry that assigns the CRS of a layer of a file; `''` is a file of one layer. */
export function findStatedCrsEntry(
  stated: StatedCrs,
  path: string,
  layer: string,
): StatedCrsEntry | undefined {
  const byLayer = findStatedCrs(stated, path);
  const crs = byLayer[layer] ?? byLayer[''];
  if (crs === undefined) return undefined;
  const key = Object.keys(stated).find((one) => {
    const own = findStatedCrs({ [one]: crs }, path);
    return stated[one] === crs && (own[layer] ?? own['']) !== undefined;
  });
  return { key: key ?? path, crs };
}

/** Assigned CRS by layer: the configuration wins over the CRSs that operators chose on the running server. */
export function mergeStatedCrs(
  configured: Record<string, string>,
  chosen: Readonly<Record<string, string>>,
): Record<string, string> {
  return configured[''] === undefined ? { ...chosen, ...configured } : configured;
}

/** Names of files of which something is stated, but that are not among the published ones. */
export function listUnusedStatedCrs(stated: StatedCrs, paths: readonly string[]): string[] {
  return Object.keys(stated).filter((key) => !paths.some((path) => isOf(path, key.replace(/#[^#]*$/, ''))));
}

function isOf(path: string, file: string): boolean {
  return path === file || basename(path) === file || path.endsWith(`/${file.replace(/^\.?\//, '')}`);
}
