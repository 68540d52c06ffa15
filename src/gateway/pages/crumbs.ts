import { plainText } from '../../core/values/percent.js';
import type { Crumb } from './layout.js';

/** Names of the surfaces that have pages, by their paths. */
const SURFACES: Readonly<Record<string, string>> = {
  '/ogc/features': 'Features',
  '/ogc/tiles': 'Tiles',
  '/ogc/maps': 'Maps',
  '/ogc/coverages': 'Coverages',
  '/ogc/processes': 'Processes',
  '/stac': 'STAC',
};

const SEGMENTS: Readonly<Record<string, string>> = {
  collections: 'Collections',
  conformance: 'Conformance',
  items: 'Items',
  jobs: 'Jobs',
  position: 'Values at a position',
  processes: 'Processes',
  results: 'Results',
  schema: 'Schema',
  statistics: 'Statistics',
  tiles: 'Tilesets',
  map: 'Map',
  styles: 'Styles',
  tileMatrixSets: 'Tile matrix sets',
};

/**
 * The path from the start page to the current page. A segment that names data is shown unchanged, or as its title
 * from `titles`.
 */
export function buildCrumbs(
  baseUrl: string,
  path: string,
  titles: Readonly<Record<string, string>> = {},
): Crumb[] {
  const mount = Object.keys(SURFACES).find(
    (mountPath) => path === mountPath || path.startsWith(`${mountPath}/`),
  );
  if (mount === undefined) return [];
  const crumbs: Crumb[] = [{ title: SURFACES[mount]!, href: `${baseUrl}${mount}` }];
  let at = mount;
  for (const segment of path.slice(mount.length).split('/')) {
    if (segment === '') continue;
    at += `/${segment}`;
    const name = plainText(segment);
    const title = own(titles, name) ?? own(SEGMENTS, name) ?? name;
    crumbs.push({ title, href: `${baseUrl}${choosePage(at)}` });
  }
  return crumbs;
}

/** Maps have no pages of collections; those of tiles know them by the same numbers. */
function choosePage(path: string): string {
  return path.replace(/^\/ogc\/maps\/(collections(\/[^/]*)?)$/, '/ogc/tiles/$1');
}

function own(names: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(names, name) ? names[name] : undefined;
}
