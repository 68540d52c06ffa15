import type { Operation } from '../../../core/http/operation.js';
import type { EditDeps } from '../../../services/edits/target.js';
import { postFormOperation } from '../post-forms.js';
import { layerNumberParam, layerTarget, requireEditLayer, serviceId } from './edit-plan.js';
import { common, SERVER } from './feature-server.js';
import { member } from './query-members.js';

/** Forms of edits for browsers. Only callers who can edit the layer get them. */

const ATOMIC = member('rollbackOnFailure', 'Apply all edits or none. Default: true, for applyEdits false.');
const FEATURES = 'JSON array of features: {"attributes": {}, "geometry": {}}.';
const CHANGED = 'JSON array of features whose attributes include the object id.';
const IDS = 'Object ids, separated by commas.';

const FORMS = {
  applyEdits: {
    summary: 'Add, change and delete features',
    params: [member('adds', FEATURES), member('updates', CHANGED), member('deletes', IDS), ATOMIC],
  },
  addFeatures: { summary: 'Add features', params: [member('features', FEATURES), ATOMIC] },
  updateFeatures: { summary: 'Change features', params: [member('features', CHANGED), ATOMIC] },
  deleteFeatures: {
    summary: 'Delete features',
    params: [member('objectIds', IDS), member('where', 'SQL condition that selects features.'), ATOMIC],
  },
  calculate: {
    summary: 'Set fields to computed values',
    params: [
      member('where', 'SQL condition that selects features.'),
      member('calcExpression', 'JSON array of {"field", "value"} or {"field", "sqlExpression"}.'),
    ],
  },
} as const;

export function editFormOperations(deps: EditDeps): Operation[] {
  return Object.entries(FORMS).map(([verb, { summary, params }]) =>
    postFormOperation({
      about: common(SERVER, verb),
      path: `/rest/services/{serviceId}/${SERVER}/{layerId}/${verb}`,
      pathParams: { serviceId, layerId: layerNumberParam },
      summary,
      fields: params,
      requireAccess: (x) =>
        void layerTarget(x, deps, requireEditLayer(deps, x, x.params.serviceId, x.params.layerId)),
    }),
  );
}
