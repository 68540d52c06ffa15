import { ApiError } from '../../../core/errors/errors.js';
import { asksForHtml } from '../../../core/http/media.js';
import { defineOperation, type Operation } from '../../../core/http/operation.js';
import type { EditDeps } from '../../../services/edits/target.js';
import { editFormPage } from '../../pages/geoservices/operation-page.js';
import { createPageReply } from '../../pages/page-reply.js';
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
  return Object.entries(FORMS).map(([verb, { summary, params }]) => {
    const { failure: _, present: _present, ...about } = common(SERVER, verb);
    return defineOperation({
      ...about,
      method: 'GET',
      id: `geoservices.form${verb[0]!.toUpperCase()}${verb.slice(1)}`,
      path: `/rest/services/{serviceId}/${SERVER}/{layerId}/${verb}`,
      summary: `Form: ${summary.toLowerCase()}`,
      params: { serviceId, layerId: layerNumberParam },
      responses: { 200: { description: 'Page with the form. The form sends its content by POST.' } },
      run(x) {
        if (!asksForHtml(x.header('accept')))
          throw new ApiError('method-not-allowed', `GET: is not a method of ${verb}. Use POST.`, {
            headers: { allow: 'POST, OPTIONS' },
          });
        layerTarget(x, deps, requireEditLayer(deps, x, x.params.serviceId, x.params.layerId));
        return createPageReply(editFormPage(x, { verb, summary, params, values: {} }));
      },
    });
  });
}
