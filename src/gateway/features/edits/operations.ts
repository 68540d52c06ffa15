import Type from 'typebox';
import type { EditOperation } from '../../../core/edits/edits.js';
import { ApiError, badMember, notFound } from '../../../core/errors/errors.js';
import { GEOJSON_FORMAT } from '../../../core/http/media.js';
import {
  defineOperation,
  type Exchange,
  type Operation,
  type Principal,
} from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { FEATURES_PATH } from '../../../core/http/paths.js';
import { editError } from '../../../services/edits/edit-error.js';
import { type EditDeps, isEditable } from '../../../services/edits/target.js';
import { runTask } from '../../../services/kit/run-task.js';
import { auditResource } from '../../../stores/audit/audit-scope.js';
import { ifMatchTags } from '../../http/replies/entity-tag.js';
import { geometryLoss } from '../../surface/editor.js';

import { ITEM_FORMATS } from '../formats.js';
import { namesRow } from '../item-tag.js';
import { createFeatureOutput } from '../items.js';
import { featureId } from '../params.js';
import { featureReply } from './answer.js';
import { batchOperation } from './batch.js';
import { contentCrs, featureBodySpec, ifMatchParam, patchBodySpec, readBodyId, readFeature } from './body.js';
import { type ItemTarget, itemTarget } from './target.js';

const ITEMS = `${FEATURES_PATH}/collections/{collectionId}/items`;

const collectionId = pathString('collectionId', 'Identifier of a collection.');

const Feature = Type.Object({ type: Type.Literal('Feature') });
const FEATURE = { 'application/geo+json': Feature };

const ERRORS = {
  400: { description: 'The body, the CRS or a value is wrong' },
  401: { description: 'Credentials are missing' },
  403: { description: 'The collection or feature may not be changed' },
  404: { description: 'No such collection or feature' },
};
const LOSSY = { 409: { description: 'The edit would replace a geometry that it cannot express' } };
const CHANGED = { 412: { description: 'The feature has changed since the entity tag' } };

/** Creating, replacing, updating and deleting features (OGC 20-002). */
export function createEditOperations(deps: EditDeps): Operation[] {
  const common = {
    surface: 'features',
    protocol: 'OGC-Features',
    permission: 'authenticated',
    audited: true,
    tag: 'Editing',
    formats: [GEOJSON_FORMAT],
    allowed: (path: Readonly<Record<string, string>>, principal?: Principal) =>
      isEditable(deps, path['collectionId'] ?? '', principal),
  } as const;
  return [
    defineOperation({
      ...common,
      id: 'features.createItem',
      repeatable: true,
      method: 'POST',
      path: ITEMS,
      summary: 'Create a feature',
      params: { collectionId, contentCrs },
      body: featureBodySpec,
      responses: {
        201: { description: 'The feature was created', content: FEATURE },
        ...ERRORS,
        409: { description: 'The feature already exists' },
      },
      async run(x) {
        const target = itemTarget(x, deps, x.params.collectionId, x.params.contentCrs);
        const operation = { type: 'create', id: readBodyId(x.body), feature: readFeature(x.body) } as const;
        return featureReply(x, deps, target, await applyOne(x, deps, target, operation), 201);
      },
    }),
    defineOperation({
      ...common,
      id: 'features.replaceItem',
      method: 'PUT',
      path: `${ITEMS}/{featureId}`,
      summary: 'Replace a feature',
      description: 'Omitted properties become null or get the default of their column.',
      params: { collectionId, featureId, contentCrs, ifMatch: ifMatchParam, geometryLoss },
      body: featureBodySpec,
      responses: {
        200: { description: 'The changed feature', content: FEATURE },
        ...ERRORS,
        ...LOSSY,
        ...CHANGED,
      },
      async run(x) {
        const { collectionId, featureId: id, contentCrs, ifMatch } = x.params;
        const target = itemTarget(x, deps, collectionId, contentCrs);
        readBodyId(x.body, id);
        const feature = readFeature(x.body);
        const rowVersion = await findExpectedVersion(x, deps, target, id, ifMatch);
        await applyOne(x, deps, target, { type: 'replace', id, rowVersion, feature });
        return featureReply(x, deps, target, id, 200);
      },
    }),
    defineOperation({
      ...common,
      id: 'features.updateItem',
      method: 'PATCH',
      path: `${ITEMS}/{featureId}`,
      summary: 'Update a feature',
      description:
        'A JSON merge patch: members that the body does not name are unchanged, and null removes a value.',
      params: { collectionId, featureId, contentCrs, ifMatch: ifMatchParam, geometryLoss },
      body: patchBodySpec,
      responses: {
        200: { description: 'The changed feature', content: FEATURE },
        ...ERRORS,
        ...LOSSY,
        ...CHANGED,
      },
      async run(x) {
        const { collectionId, featureId: id, contentCrs, ifMatch } = x.params;
        const target = itemTarget(x, deps, collectionId, contentCrs);
        readBodyId(x.body, id);
        if (x.body.properties === null) throw badMember('/properties', 'cannot be removed');
        const feature = readFeature(x.body);
        const rowVersion = await findExpectedVersion(x, deps, target, id, ifMatch);
        await applyOne(x, deps, target, { type: 'update', id, rowVersion, feature });
        return featureReply(x, deps, target, id, 200);
      },
    }),
    defineOperation({
      ...common,
      id: 'features.deleteItem',
      method: 'DELETE',
      path: `${ITEMS}/{featureId}`,
      summary: 'Delete a feature',
      params: { collectionId, featureId, ifMatch: ifMatchParam },
      responses: { 204: { description: 'The feature was deleted' }, ...ERRORS, ...CHANGED },
      async run(x) {
        const { collectionId, featureId: id, ifMatch } = x.params;
        const target = itemTarget(x, deps, collectionId, undefined);
        const rowVersion = await findExpectedVersion(x, deps, target, id, ifMatch);
        await applyOne(x, deps, target, { type: 'delete', id, rowVersion });
        return { status: 204 };
      },
    }),
    batchOperation(deps, common, `${ITEMS}/batch`),
  ];
}

/** Runs one operation; returns the id of its feature. */
async function applyOne(
  x: Exchange,
  deps: EditDeps,
  target: ItemTarget,
  operation: EditOperation,
): Promise<string> {
  const edit = { ...target.task, operations: [operation], mode: 'each' as const };
  const { outcomes } = await deps.edits.run(x, target.collection, edit);
  const [outcome] = outcomes;
  auditResource(`${target.collection.id}/${outcome!.ok ? outcome!.id : (operation.id ?? '')}`);
  if (!outcome!.ok) throw editError(outcome!);
  return outcome!.id;
}

/**
 * The row that If-Match names, for the transaction to compare with: a tag hangs on format and CRS, the row does not.
 * Undefined without a condition. Throws 404 and 412.
 */
async function findExpectedVersion(
  x: Exchange,
  deps: EditDeps,
  { collection, view, crs, task }: ItemTarget,
  id: string,
  condition: string | undefined,
): Promise<string | undefined> {
  const tags = condition === undefined ? '*' : ifMatchTags(condition);
  if (tags === '*') return undefined;
  const stored = await runTask(x, deps.pools, 'vector.item', {
    source: view.source,
    filter: task.filter,
    ...createFeatureOutput(x, view, GEOJSON_FORMAT, crs, view.fields),
    id,
    skipGeometry: true,
  });
  if (!stored) throw notFound('feature', id.slice(0, 100));
  if (namesRow(tags, stored.shown, collection, ITEM_FORMATS)) return stored.row;
  throw new ApiError(
    'precondition-failed',
    'If-Match: the feature has changed since this entity tag. Read it again and retry with its ETag.',
  );
}
