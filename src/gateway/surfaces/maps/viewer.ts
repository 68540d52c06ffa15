import Type from 'typebox';
import type { Collection } from '../../../core/collection.js';
import { LIMITS } from '../../../core/limits.js';
import { HTML_FORMAT } from '../../../core/media.js';
import { defineOperation, type Operation } from '../../../core/operation.js';
import { list } from '../../../core/params.js';
import { type PopupTemplate, popupTemplate } from '../../../core/popup.js';
import { html } from '../../../core/reply.js';
import { contentTag } from '../../http/content-tag.js';
import { pageHeaders } from '../../pages/security.js';
import { type ViewedCollection, viewerPage } from '../../pages/viewer.js';
import { temporalField } from '../../services/filters.js';
import { instantsOf } from '../../services/rasters/granules.js';
import { type SurfaceDeps, selectCollections } from '../common.js';

/** Layers of a map that names none; further ones can be asked for. */
const LAYERS = 24;
/** Instants of one layer that a slider steps through. */
const INSTANTS = 1000;

export interface MapsDeps extends SurfaceDeps {
  /** The document that says how the pop-ups of a layer look; null when nobody put one. */
  popupInfo(layerId: number): Promise<object | null>;
}

/** The page with the map viewer. */
export function viewerOperation({ visible, popupInfo }: MapsDeps): Operation {
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
      collections: list(
        'collections',
        LIMITS.collectionsPerRequest,
        'Identifiers; the first ones when absent.',
      ),
    },
    formats: [HTML_FORMAT],
    responses: {
      200: { description: 'The page', content: { 'text/html': Type.String() } },
      404: { description: 'No such collection' },
    },
    async run({ baseUrl, principal, params }) {
      const catalog = visible(principal).onEarth;
      const chosen = selectCollections({ baseUrl }, catalog, params.collections, () => true);
      const drawn = params.collections ? chosen : chosen.slice(0, LAYERS);
      const shown = await Promise.all(
        drawn.map(async (one) => viewed(one, popupTemplate(await popupInfo(one.layerId)))),
      );
      const document = viewerPage({ baseUrl, shown });
      return {
        ...html(document),
        headers: pageHeaders(),
        cacheControl: 'no-cache',
        etag: contentTag(document),
      };
    },
  });
}

function viewed(collection: Collection, popup: PopupTemplate | null): ViewedCollection {
  const instants = collection.kind === 'raster' ? instantsOf(collection) : [];
  return {
    collection,
    // Of more, the newest are what readers look for.
    instants: instants.slice(-INSTANTS),
    timeProperty: collection.kind === 'vector' ? temporalField(collection.source)?.name : undefined,
    popup,
  };
}
