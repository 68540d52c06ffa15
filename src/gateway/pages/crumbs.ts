import type { Principal } from '../../core/http/operation.js';
import { plainText } from '../../core/values/percent.js';
import { type Crumb, type PageFrame, type PageReader, sitePath } from './layout.js';

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
  exports: 'Exports',
  items: 'Items',
  jobs: 'Jobs',
  position: 'Values at a position',
  processes: 'Processes',
  results: 'Results',
  queryables: 'Queryables',
  schema: 'Schema',
  search: 'Search',
  statistics: 'Statistics',
  tiles: 'Tilesets',
  map: 'Map',
  styles: 'Styles',
  tileMatrixSets: 'Tile matrix sets',
};

/** Properties of the request that a page needs. */
export interface HtmlPageRequest {
  readonly baseUrl: string;
  /** Request path without query. */
  readonly path: string;
  /** Query string without `?`. */
  readonly query: string;
  readonly principal: Pick<Principal, 'kind' | 'name' | 'permissions' | 'tenantId'>;
}

/** The frame of the page of a request, with its crumbs. See `buildCrumbs` for `titles`. */
export function locatePage(
  x: HtmlPageRequest,
  titles?: Readonly<Record<string, string>>,
): PageFrame & { readonly crumbs: readonly Crumb[] } {
  return { ...buildFrame(x), crumbs: buildCrumbs(x.baseUrl, x.path, titles) };
}

export function buildFrame(x: HtmlPageRequest): PageFrame {
  return { baseUrl: x.baseUrl, reader: buildReader(x) };
}

function buildReader({ baseUrl, path, query, principal }: HtmlPageRequest): PageReader {
  const here = `${sitePath(baseUrl)}${path}${query === '' ? '' : `?${query}`}`;
  return principal.kind === 'anonymous' ? { here } : { name: principal.name, here };
}

/**
 * The path from the start page to the current page. A segment that names data is shown unchanged, or as its title
 * from `titles`.
 */
function buildCrumbs(baseUrl: string, path: string, titles: Readonly<Record<string, string>> = {}): Crumb[] {
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
