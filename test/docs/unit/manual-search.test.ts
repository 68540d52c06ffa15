import MiniSearch from 'minisearch';
import { beforeAll, describe, expect, it } from 'vitest';
import { INDEX_OPTIONS, type Section, searchIndex } from '../../../src/console/manual/search.mjs';
import { buildIndex, readManual } from '../manual.js';

/** What people type, and pages that answer it: one of them is among the first three of the results. */
const QUERIES: readonly (readonly [query: string, ...pages: string[]])[] = [
  ['serve https', 'how-to/install/https'],
  ['restrict layer group', 'how-to/access/roles-and-policies', 'reference/server/access'],
  ['tile cache performance', 'how-to/operate/faster-tiles', 'explanation/performance', 'explanation/caching'],
  [
    'not implemented 501',
    'reference/server/errors',
    'reference/apis/operations',
    'reference/apis/conformance',
  ],
  ['troubleshooting', 'how-to/operate/troubleshooting'],
  ['subpath', 'how-to/install/behind-nginx'],
  ['slow tiles', 'how-to/operate/faster-tiles'],
  ['new version', 'how-to/install/upgrade'],
  ['high availability', 'how-to/operate/scaling'],
  ['empty map', 'how-to/operate/troubleshooting'],
  ['file not published', 'how-to/operate/troubleshooting'],
  ['out of memory', 'how-to/operate/troubleshooting'],
  ['backup', 'how-to/operate/backup'],
  ['upgrade', 'how-to/install/upgrade'],
  ['cors', 'how-to/clients/embed-a-map', 'reference/server/settings', 'reference/server/access'],
  ['rate limit', 'how-to/access/rate-limits'],
  ['api key', 'how-to/access/roles-and-policies', 'how-to/access/sign-in', 'reference/server/access'],
  ['docker', 'how-to/install/deploy', 'how-to/install/install'],
  ['kubernetes', 'how-to/install/deploy'],
  ['postgis password', 'how-to/data/postgis', 'how-to/data/connections'],
  ['geojson upload', 'how-to/data/import', 'reference/data/imports'],
  ['csv import', 'how-to/data/import'],
  ['shapefile encoding', 'how-to/data/import', 'reference/data/file-formats'],
  ['raster colours', 'how-to/styling/raster-colours'],
  ['base map', 'how-to/styling/base-map'],
  ['embed map', 'how-to/clients/embed-a-map'],
  ['qgis edit', 'how-to/clients/qgis'],
  ['python rasterio', 'how-to/clients/python'],
  ['arcgis', 'reference/apis/geoservices'],
  ['webhook', 'how-to/operate/webhooks'],
  ['replay events', 'reference/apis/streaming', 'how-to/operate/webhooks', 'how-to/clients/stream-client'],
  ['log level', 'reference/server/logs', 'reference/server/settings', 'how-to/operate/monitoring'],
  ['prometheus', 'how-to/operate/monitoring', 'reference/server/metrics'],
  ['otlp', 'reference/server/traces', 'reference/server/logs', 'how-to/operate/monitoring'],
  [
    'memory',
    'reference/server/settings',
    'how-to/operate/scaling',
    'how-to/operate/troubleshooting',
    'explanation/performance',
    'how-to/install/install',
  ],
  [
    'too many requests',
    'reference/server/errors',
    'how-to/access/rate-limits',
    'reference/server/request-limits',
  ],
  ['conformance', 'reference/apis/conformance'],
  ['mbtiles', 'how-to/data/tile-archives', 'how-to/operate/tile-jobs'],
  ['pmtiles', 'how-to/data/tile-archives', 'how-to/operate/tile-jobs'],
  ['cql2 filter', 'reference/apis/filters'],
  ['time slider', 'reference/apis/viewer'],
  ['sign in openid', 'how-to/access/sign-in'],
  ['client certificate', 'how-to/access/client-certificates'],
  ['migrate geoserver', 'how-to/data/import-from-servers', 'how-to/data/import', 'how-to/data/export'],
  ['move to postgresql', 'how-to/data/move-to-postgresql', 'explanation/state'],
  [
    'change crs',
    'tutorials/publish-a-folder',
    'how-to/data/import',
    'reference/data/file-formats',
    'reference/apis/pages',
  ],
  ['install debian', 'how-to/install/install'],
  ['seed tiles', 'how-to/operate/tile-jobs'],
  ['svc_cache_hits_total', 'reference/server/metrics'],
  ['server.publicUrl', 'reference/server/settings'],
  ['1122', 'reference/server/logs'],
  ['invalid-parameter', 'reference/server/errors'],
  ['command line', 'reference/server/command-line'],
  ['wms', 'reference/apis/geoservices-maps'],
  ['fonts', 'how-to/styling/fonts-and-icons'],
  ['change port', 'how-to/install/install'],
  ['projection', 'reference/data/file-formats'],
  ['healthcheck', 'reference/server/health', 'how-to/operate/monitoring'],
  ['clear cache', 'how-to/operate/faster-tiles'],
  ['geofence', 'how-to/operate/alerts'],
  ['delete feature', 'reference/apis/editing'],
  ['stac', 'reference/apis/stac', 'how-to/data/stac-imagery'],
];

let index: MiniSearch<Section>;

beforeAll(async () => {
  const { pages } = await readManual('docs');
  index = MiniSearch.loadJSON<Section>(buildIndex(pages), INDEX_OPTIONS);
});

const pagesFor = (query: string) => [...new Set(searchIndex(index, query).map(({ page }) => page))];

describe('the search of the manual', () => {
  it.each(QUERIES)('for "%s" finds %s among the first three pages', (query, ...pages) => {
    const first = pagesFor(query).slice(0, 3);
    expect(first, first.join(', ')).toSatisfy((found: string[]) =>
      pages.some((page) => found.includes(`${page}.html`)),
    );
  });

  it('finds words that are not complete, with a letter wrong, or in the plural', () => {
    const [whole] = pagesFor('certificate');
    for (const query of ['certific', 'certificates', 'certifcate']) expect(pagesFor(query)[0]).toBe(whole);
  });

  it('finds nothing where no page has the words', () => {
    expect(pagesFor('xyzzyplugh')).toEqual([]);
    expect(pagesFor('')).toEqual([]);
  });
});
