import { hasFeatures } from '../../core/catalog/abilities.js';
import type { CatalogSnapshot, VectorCollection } from '../../core/catalog/collection.js';
import type { EditOperation, EditOutcome } from '../../core/edits/edits.js';
import { ApiError, notFound } from '../../core/errors/errors.js';
import type { FormValues } from '../../core/forms/evaluate.js';
import type { FormDocument } from '../../core/forms/form-document.js';
import { CRS84 } from '../../core/geometry/crs.js';
import type { Principal } from '../../core/http/operation.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { FieldSubmissionRow } from '../../stores/forms/submissions.js';
import type { StateCipher } from '../access/keys/state-cipher.js';
import type { PresentRights } from '../access/rules/present-rights.js';
import { coordinatesIn, type EditDeps, editTarget } from '../edits/target.js';
import { findView } from '../features/view.js';
import { runTask, type TaskContext } from '../kit/run-task.js';

export interface SubmissionEditDeps extends Pick<EditDeps, 'access' | 'edits' | 'pools'> {
  catalog(): CatalogSnapshot;
  visible(principal: Principal): CatalogSnapshot;
  readonly presentRights: Pick<PresentRights, 'of'>;
  readonly sealing: StateCipher;
}

/** Events of one page of an outbox. */
const PAGE = 500;

/** Edits of features by submissions, in the name of their submitters. */
export class SubmissionEdits {
  constructor(private readonly deps: SubmissionEditDeps) {}

  get pools(): Pools {
    return this.deps.pools;
  }

  get catalogs(): EditDeps {
    return this.deps;
  }

  /** Throws `not-found` for a layer that does not exist or has no features. */
  findLayer(layerId: number): VectorCollection {
    const layer = this.deps.catalog().byLayerId(layerId);
    if (!hasFeatures(layer)) throw notFound('layer', String(layerId));
    return layer;
  }

  /** Cursor of the newest edit of the store of a layer. */
  async readCursor(x: TaskContext, layerId: number): Promise<number> {
    const { source } = this.findLayer(layerId);
    const { newest } = await runTask(x, this.deps.pools, 'vector.events', {
      source,
      from: Number.MAX_SAFE_INTEGER,
      limit: 1,
    });
    return newest;
  }

  /** Id of the feature that a submission changed after a cursor. Undefined if it changed none. */
  async findApplied(x: TaskContext, row: FieldSubmissionRow, after: number): Promise<string | undefined> {
    const { source } = this.findLayer(row.layer_id);
    for (let from = after + 1; ; ) {
      const { events } = await runTask(x, this.deps.pools, 'vector.events', { source, from, limit: PAGE });
      const own = events.find(({ requestId }) => requestId === row.id);
      if (own) return own.featureId;
      if (events.length < PAGE) return undefined;
      from = events.at(-1)!.cursor + 1;
    }
  }

  /** Applies a submission with the present rights of its submitter. Throws `forbidden` if they do not suffice. */
  async apply(x: TaskContext, row: FieldSubmissionRow, form: FormDocument): Promise<EditOutcome> {
    const { sealing, presentRights, edits } = this.deps;
    if (row.submitter === null) throw new ApiError('conflict', 'The submission is decided.');
    const principal = await presentRights.of(JSON.parse(sealing.open(row.submitter)) as Principal);
    const view = findView(this.deps, principal, this.findLayer(row.layer_id).id);
    const editor = { principal, protocol: 'OGC-Features', requestId: row.id, acceptsLoss: false };
    const { collection, task } = editTarget(this.deps, editor, view);
    const operation = buildEdit(row, form, new Set(view.fields.map(({ name }) => name)));
    const { outcomes } = await edits.run(x, collection, {
      ...task,
      ...coordinatesIn(CRS84, 'x-y'),
      mode: 'each',
      operations: [operation],
    });
    return outcomes[0]!;
  }
}

/** The edit of a submission: values of visible fields by the column of their field. */
function buildEdit(row: FieldSubmissionRow, form: FormDocument, columns: ReadonlySet<string>): EditOperation {
  if (row.operation === 'delete') return { type: 'delete', id: row.target_id!, ...versionOf(row) };
  const answers = JSON.parse(row.values_json) as FormValues;
  const values: Record<string, string> = {};
  for (const { fieldId, targetField } of form.fields) {
    if (targetField === null || !columns.has(targetField) || !(fieldId in answers)) continue;
    const value = answers[fieldId];
    // Several codes of a choice are one text, as in XLSForm, unless the column takes lists.
    values[targetField] = JSON.stringify(Array.isArray(value) ? value.join(' ') : value);
  }
  const feature = { values, ...(row.geometry_json === null ? {} : { geometry: row.geometry_json }) };
  return row.operation === 'create'
    ? { type: 'create', feature }
    : { type: 'update', id: row.target_id!, ...versionOf(row), feature };
}

const versionOf = ({ target_row }: FieldSubmissionRow) =>
  target_row === null ? {} : { rowVersion: target_row };
