import Type from 'typebox';
import { FEATURE_LIMITS } from '../../core/features/limits.js';
import { defineOperation, type Operation } from '../../core/http/operation.js';
import { FEATURES_PATH } from '../../core/http/paths.js';
import { countMatches } from '../../services/features/match-count.js';
import { selectFeatures } from '../../services/features/selection.js';
import { findView } from '../../services/features/view.js';
import type { SurfaceDeps } from '../surface/common.js';
import { readSelection, selectionParams } from './exports/params.js';

const Count = Type.Object({
  numberMatched: Type.Optional(Type.Integer()),
  moreThan: Type.Optional(Type.Integer()),
});

/** Counts features without a page of them. */
export function countOperation(deps: SurfaceDeps): Operation {
  return defineOperation({
    surface: 'features',
    protocol: 'OGC-Features',
    permission: 'public',
    method: 'GET',
    tag: 'Features',
    id: 'features.getCount',
    entityTag: 'none',
    path: `${FEATURES_PATH}/collections/{collectionId}/count`,
    summary: 'Number of features',
    description: `Counts the selected features for at most ${FEATURE_LIMITS.countMs / 1000} second. The response contains numberMatched, or moreThan if the time is too short.`,
    params: selectionParams,
    openQuery: true,
    responses: {
      200: { description: 'Number', content: { 'application/json': Count } },
      400: { description: 'A parameter is wrong' },
      404: { description: 'No such collection' },
      503: { description: 'The data source does not respond, or the server is busy' },
    },
    async run(x) {
      const view = findView(deps, x.principal, x.params.collectionId);
      const filter = selectFeatures(view, readSelection(x, x.params));
      const { count, isExact } = await countMatches(x, deps.pools, view, filter);
      return {
        status: 200,
        mediaType: 'application/json',
        cacheControl: 'no-cache',
        body: JSON.stringify(isExact ? { numberMatched: count } : { moreThan: count }),
      };
    },
  });
}
