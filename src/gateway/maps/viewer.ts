import Type from 'typebox';
import { hasCoverage, hasFeatures } from '../../core/catalog/abilities.js';
import type { Collection } from '../../core/catalog/collection.js';
import { type PopupTemplate, popupTemplate } from '../../core/features/popup.js';
import { HTML_FORMAT, JSON_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Operation } from '../../core/http/operation.js';
import { defineListParam } from '../../core/http/params.js';
import { LIMITS } from '../../core/kit/limits.js';
import { qualifiers } from '../../services/catalog/source-names.js';
import { temporalField } from '../../services/filters/filters.js';
import { listInstants } from '../../services/rasters/granules.js';
import type { Symbols } from '../../services/styles/symbols.js';
import { listBadges } from '../pages/catalog/collections.js';
import { buildFrame } from '../pages/crumbs.js';
import { selectInitialCollections } from '../pages/maps/initial-collections.js';
import { type ViewedCollection, viewerPage } from '../pages/maps/viewer.js';
import { createPageReply } from '../pages/page-reply.js';
import { documentReply, type SurfaceDeps, selectCollections } from '../surface/common.js';
import { find, finderParams } from '../surface/finder.js';

/** Maximum number of instants of one layer that a slider steps through. */
const INSTANTS = 1000;

export interface MapsDeps extends SurfaceDeps {
  /** The document for the pop-ups of a layer; null if there is none. */
  popupInfo(layerId: number): Promise<object | null>;
  /** Shared by all surfaces that serve symbols. */
  readonly symbols: Symbols;
}

/** Maximum number of collections in the result of a layer search. */
const SUGGESTIONS = 30;

/** The page of the map viewer, and its layer search. */
export function viewerOperations(deps: MapsDeps): Operation[] {
  return [viewerOperation(deps), layerSearch(deps)];
}

function layerSearch({ visible, places }: MapsDeps): Operation {
  return defineOperation({
    surface: 'maps',
    protocol: 'OGC-Maps',
    permission: 'public',
    method: 'GET',
    id: 'maps.viewerLayers',
    path: '/ogc/maps/viewer/layers',
    summary: 'Search for layers of the map viewer',
    description: `The first ${SUGGESTIONS} collections that match, with their sources.`,
    tag: 'Maps',
    params: { q: finderParams.q, kind: finderParams.kind, place: finderParams.place },
    formats: [JSON_FORMAT],
    responses: {
      200: { description: 'Collections', content: { [JSON_FORMAT.mediaType]: Type.Object({}) } },
    },
    run(x) {
      const { collections } = visible(x.principal).onEarth;
      const params = { ...x.params, sort: 'title' as const, view: undefined, page: 1 };
      const { total, hits } = find({ params, path: x.path }, places, collections);
      const layers = hits.slice(0, SUGGESTIONS).map(({ collection, name }) => ({
        id: collection.id,
        title: collection.title,
        source: name.source,
        kind: listBadges(collection)[0],
      }));
      return documentReply(x, { total, layers }, () => '');
    },
  });
}

function viewerOperation({ visible, popupInfo }: MapsDeps): Operation {
  return defineOperation({
    surface: 'maps',
    protocol: 'OGC-Maps',
    permission: 'public',
    method: 'GET',
    id: 'maps.viewer',
    path: '/ogc/maps/viewer',
    summary: 'Map viewer',
    description: 'A page with a map of collections: layers, legend, values at a place, times.',
    tag: 'Maps',
    params: {
      collections: defineListParam(
        'collections',
        LIMITS.collectionsPerRequest,
        'Identifiers. Default: a few that lie together.',
      ),
    },
    formats: [HTML_FORMAT],
    responses: {
      200: { description: 'The page', content: { 'text/html': Type.String() } },
      404: { description: 'No such collection' },
    },
    async run(x) {
      const { baseUrl, principal, params } = x;
      const catalog = visible(principal).onEarth;
      const selection = selectCollections({ baseUrl }, catalog, params.collections, () => true);
      const layers = params.collections ? selection : selectInitialCollections(catalog.collections);
      const views = await Promise.all(
        layers.map(async (one) =>
          viewed(one, visiblePopup(one, popupTemplate(await popupInfo(one.layerId)))),
        ),
      );
      const titles = qualifiers(catalog.collections);
      const document = viewerPage({ ...buildFrame(x), views, titles, published: catalog.collections.length });
      return createPageReply(document);
    },
  });
}

/** The template without the attributes that the reader may not read. */
function visiblePopup(collection: Collection, template: PopupTemplate | null): PopupTemplate | null {
  if (!template || !hasFeatures(collection) || !collection.rule) return template;
  const { source, rule } = collection;
  const readable = new Set(source.fields.map(({ name }) => name));
  const hidden = rule.stored.fields.filter(({ name }) => !readable.has(name));
  const fields = template.fields.filter(({ name }) => !hidden.some((field) => field.name === name));
  const isTold = hidden.some(({ name }) => template.title?.includes(`{${name}}`));
  return { title: isTold ? null : template.title, fields };
}

function viewed(collection: Collection, popup: PopupTemplate | null): ViewedCollection {
  const instants = hasCoverage(collection) ? listInstants(collection) : [];
  return {
    collection,
    // If there are more, only the latest instants are listed.
    instants: instants.slice(-INSTANTS),
    timeProperty: hasFeatures(collection) ? temporalField(collection.source)?.name : undefined,
    popup,
  };
}
