import Type from 'typebox';
import { hasFeatures } from '../../core/catalog/abilities.js';
import type { CatalogSnapshot, VectorCollection } from '../../core/catalog/collection.js';
import { findCollection, requirePlace } from '../../core/catalog/find.js';
import { withoutSurface } from '../../core/catalog/other-surfaces.js';
import { notFound } from '../../core/errors/errors.js';
import { HTML_FORMAT, JSON_FORMAT } from '../../core/http/media.js';
import {
  defineOperation,
  type Exchange,
  type Operation,
  type Principal,
  type Reply,
} from '../../core/http/operation.js';
import { defineListParam, pathString } from '../../core/http/params.js';
import { createTextReply } from '../../core/http/reply.js';
import { LIMITS } from '../../core/kit/limits.js';
import { searchCollections } from '../../services/catalog/collection-search.js';
import { qualifiers } from '../../services/catalog/source-names.js';
import type { SourceState } from '../../services/catalog/source-states.js';
import { maySeeSources } from '../../services/catalog/source-states.js';
import type { RegionBoxes } from '../../services/exchange/places.js';
import { maySeeAlerts } from '../pages/alerts/parts.js';
import { homePage, type SurfaceEntry } from '../pages/catalog/home.js';
import { buildFrame } from '../pages/crumbs.js';
import { createPageReply } from '../pages/page-reply.js';
import { livePage } from '../pages/streams/live.js';
import { documentReply, selectCollections } from '../surface/common.js';
import { chosenCollections, find, finderParams, splitSearchWords } from '../surface/finder.js';
import { Assets } from './assets.js';
import { type BasemapDeps, basemapOperations } from './basemap.js';
import { capabilitiesOperation } from './capabilities.js';
import { crsOperation } from './crs.js';
import { homeDocument, homeLinks } from './documents.js';
import { manualOperations, problemTypeOperation } from './manual.js';
import { type SourceCrsPageDeps, sourceCrsOperation } from './source-crs.js';
import { listProblemSources, sourcesOperation } from './sources.js';

export interface SiteDeps extends BasemapDeps, SourceCrsPageDeps {
  visible(principal: Principal): CatalogSnapshot;
  /** Interfaces to list, in order. `path` starts with a slash. */
  readonly surfaces: readonly SurfaceEntry[];
  /** Directory that the console's build writes: scripts and style sheets. Read once. */
  readonly publicDir: string;
  /** Directory of the manual, a static site that the build writes. */
  readonly manualDir: string;
  readonly version: string;
  readonly places: RegionBoxes;
  /** Sources and their states, for callers with `SOURCES_PERMISSION`. */
  listSources(): readonly SourceState[];
}

const SITE = { method: 'GET', surface: 'site', protocol: 'Site', permission: 'public' } as const;
const HTML_ANSWER = { 'text/html': Type.String() };

/** Start page, manual and the files that pages are made of. */
export function siteOperations(deps: SiteDeps): Operation[] {
  const assets = Assets.read(deps.publicDir);
  return [
    home(deps),
    capabilitiesOperation(deps.version),
    sourcesOperation(deps),
    sourceCrsOperation(deps),
    live(deps),
    liveOne(deps),
    asset(assets),
    favicon(assets),
    robots(),
    ...manualOperations(deps.manualDir),
    problemTypeOperation(),
    ...basemapOperations(deps),
    crsOperation(),
  ];
}

function home(deps: SiteDeps): Operation {
  return defineOperation({
    ...SITE,
    id: 'site.home',
    path: '/',
    summary: 'Start page',
    description: 'Lists every interface and every published collection; as HTML with a map of all layers.',
    formats: [HTML_FORMAT, JSON_FORMAT],
    params: finderParams,
    responses: {
      200: { description: 'The start page.', content: { ...HTML_ANSWER, 'application/json': null } },
    },
    run: (x) => {
      const catalog = deps.visible(x.principal);
      const { surfaces, version } = deps;
      const { baseUrl } = x;
      const chosen =
        x.format === HTML_FORMAT
          ? catalog.collections
          : chosenCollections(x.params, deps.places, catalog.collections);
      const document = homeDocument(chosen, surfaces, version, baseUrl);
      return documentReply(x, document, () =>
        homePage({
          ...buildFrame(x),
          version,
          surfaces,
          collections: catalog.collections,
          finder: find(x, deps.places, catalog.collections),
          links: homeLinks(baseUrl),
          problems: maySeeSources(x.principal) ? listProblemSources(deps) : [],
          hasAlerts: maySeeAlerts(x.principal),
        }),
      );
    },
  });
}

/** Maximum number of collections that the page follows without a choice. More colours are not distinct. */
const LIVE_LAYERS = 6;

/** Collections that a search on the live page lists. */
const LIVE_SUGGESTIONS = 30;

function live({ visible }: SiteDeps): Operation {
  return defineOperation({
    ...SITE,
    id: 'site.live',
    path: '/live',
    summary: 'Live map of collections of features',
    params: {
      collections: defineListParam(
        'collections',
        LIMITS.collectionsPerRequest,
        `Identifiers of the collections to follow. Default: all if there are at most ${LIVE_LAYERS}, otherwise none.`,
      ),
      q: finderParams.q,
    },
    formats: [HTML_FORMAT],
    responses: {
      200: { description: 'Page with live changes.', content: HTML_ANSWER },
      404: { description: 'The feature collection does not exist.' },
    },
    run: (x) => {
      const { baseUrl, principal, params } = x;
      const catalog = visible(principal).onEarth;
      const { vectors } = catalog;
      const followed = params.collections
        ? (selectCollections({ baseUrl }, catalog, params.collections, hasFeatures) as VectorCollection[])
        : vectors.length <= LIVE_LAYERS
          ? vectors
          : [];
      const words = splitSearchWords(params.q);
      const matches = searchCollections(vectors, { words, order: 'title' });
      const choice = {
        published: vectors.length,
        titles: qualifiers(vectors),
        q: params.q,
        total: matches.length,
        matches: matches.slice(0, LIVE_SUGGESTIONS).map(({ collection }) => collection),
      };
      return createPageReply(livePage({ ...buildFrame(x), followed, choice }));
    },
  });
}

const collectionParam = pathString('collectionId', 'Identifier of a collection of features.');

function liveOne({ visible }: SiteDeps): Operation {
  return defineOperation({
    ...SITE,
    id: 'site.liveCollection',
    path: '/live/{collectionId}',
    summary: 'Live map of one collection',
    params: { collectionId: collectionParam },
    formats: [HTML_FORMAT],
    responses: {
      200: { description: 'Page with live changes.', content: HTML_ANSWER },
      404: { description: 'The feature collection does not exist.' },
    },
    run: (x) => {
      const { principal, params } = x;
      const only = findCollection(visible(principal), params.collectionId);
      requirePlace(only);
      if (!hasFeatures(only)) throw withoutSurface('page with live changes of', only);
      return createPageReply(livePage({ ...buildFrame(x), only, followed: [only] }));
    },
  });
}

const fileParam = pathString('file', 'Name of a script, style sheet or image.');

function asset(assets: Assets): Operation {
  return defineOperation({
    ...SITE,
    id: 'site.asset',
    path: '/assets/{file}',
    summary: 'Script, style sheet or image of the pages',
    params: { file: fileParam },
    responses: {
      200: { description: 'The file.' },
      404: { description: 'The file does not exist.' },
    },
    run: ({ params }) => assetReply(assets, params.file),
  });
}

function favicon(assets: Assets): Operation {
  return defineOperation({
    ...SITE,
    id: 'site.favicon',
    path: '/favicon.ico',
    summary: 'Icon of the site',
    responses: { 200: { description: 'The icon, as SVG.' } },
    run: () => assetReply(assets, 'mark.svg'),
  });
}

function assetReply(assets: Assets, name: string): Reply {
  const reply = assets.find(name);
  if (!reply) throw notFound('file', name);
  return reply;
}

/** Crawlers read the pages; tiles, images and item lists would only load the server. */
const ROBOTS = `User-agent: *
Disallow: /ogc/tiles/
Disallow: /ogc/maps/
Allow: /ogc/maps/viewer
Disallow: /ogc/features/collections/*/items
Disallow: /ogc/coverages/collections/*/coverage
Disallow: /api/
Disallow: /rest/
`;

function robots(): Operation {
  return defineOperation({
    ...SITE,
    id: 'site.robots',
    path: '/robots.txt',
    summary: 'Rules for crawlers',
    responses: { 200: { description: 'Robots exclusion rules (RFC 9309).' } },
    run: (_: Exchange) => ({ ...createTextReply(ROBOTS), cacheControl: 'public, max-age=86400' }),
  });
}
