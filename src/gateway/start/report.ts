import { existsSync, realpathSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { byData } from '../../core/catalog/abilities.js';
import { describeWarning } from '../../core/catalog/assumed-crs.js';
import type { CatalogSnapshot, Collection } from '../../core/catalog/collection.js';
import { isInFolder } from '../../core/files/folders.js';
import { isPath } from '../../core/sources/sources.js';

/** Table of the published data for the terminal. */
export function publishedTable(
  catalog: CatalogSnapshot,
  baseUrl: string,
  sources: readonly string[],
  listsProblems = true,
): string {
  const rows = catalog.collections.map((c) => [
    String(c.layerId),
    c.id,
    formatKind(c),
    formatSize(c),
    relativeFile(c.file),
  ]);
  const header = ['layer', 'collection', 'kind', 'size', 'source'];
  const widths = header.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i]!.length)));
  const line = (row: string[]) => `  ${row.map((cell, i) => cell.padEnd(widths[i]!)).join('  ')}`.trimEnd();
  const problems = listsProblems ? listProblems(catalog) : countProblems(catalog);
  const hasProblems = problems.length > 0;
  return [
    '',
    ...(rows.length > 0 ? [line(header), ...rows.map(line)] : ['  nothing is published yet']),
    ...problems,
    ...emptySources(catalog, sources).map((source) => `  nothing to publish in ${relativeFile(source)}`),
    '',
    `  map       ${baseUrl}/`,
    `  features  ${baseUrl}/ogc/features/`,
    `  tiles     ${baseUrl}/ogc/tiles/`,
    `  maps      ${baseUrl}/ogc/maps`,
    `  coverages ${baseUrl}/ogc/coverages/`,
    `  STAC      ${baseUrl}/stac`,
    `  API       ${baseUrl}/docs`,
    `  manual    ${baseUrl}/manual/`,
    `  sign in   ${baseUrl}/account/sign-in`,
    `  manage    ${baseUrl}/docs/admin`,
    ...(hasProblems ? [`  problems  ${baseUrl}/sources`] : []),
    '',
  ].join('\n');
}

/** Refused files and warnings, one line each. */
function listProblems(catalog: CatalogSnapshot): string[] {
  const refused = catalog.quarantined.map(
    ({ path, layer, reason }) =>
      `  not published: ${relativeFile(path)}${layer ? ` (${layer})` : ''}: ${reason}`,
  );
  return [...refused, ...listWarnings(catalog).map((warning) => `  warning: ${warning}`)];
}

/** Numbers of refused files and warnings that the log lists. */
function countProblems(catalog: CatalogSnapshot): string[] {
  const refused = catalog.quarantined.length;
  const warnings = listWarnings(catalog).length;
  if (refused + warnings === 0) return [];
  return [`  not published: ${refused}, warnings: ${warnings}; the log lists them (ids 1205 and 1201)`];
}

/** Files and folders that contain nothing to publish and have no message. */
function emptySources({ collections, quarantined }: CatalogSnapshot, sources: readonly string[]): string[] {
  const files = [...collections.map(({ file }) => file), ...quarantined.map(({ path }) => path)];
  return sources.filter(isPath).filter((source) => {
    const place = existsSync(source) ? realpathSync(source) : resolve(source);
    return !files.some((file) => isInFolder(file, place));
  });
}

/** Warnings about data that is published nevertheless. */
export function listWarnings({ collections }: CatalogSnapshot): string[] {
  return collections.flatMap((one) => {
    const warning = describeWarning(one);
    return warning === undefined ? [] : [`${one.id}: ${warning}`];
  });
}

function formatKind(collection: Collection): string {
  return byData<string>(collection, {
    features: ({ source }) => source.geometryType,
    coverage: ({ bands }) => `raster, ${bands.length} band${bands.length === 1 ? '' : 's'}`,
    storedTiles: ({ format }) => `${format} tiles`,
  });
}

function formatSize(collection: Collection): string {
  return byData(collection, {
    features: ({ countEstimated, featureCount }) => `${countEstimated ? '~' : ''}${featureCount} features`,
    coverage: ({ raster }) => `${raster.width} x ${raster.height} px`,
    storedTiles: ({ minZoom, maxZoom }) => `z${minZoom}-${maxZoom}`,
  });
}

function relativeFile(path: string): string {
  if (!isPath(path)) return path;
  const short = relative(process.cwd(), path);
  return short.startsWith('../../') ? path : short || '.';
}
