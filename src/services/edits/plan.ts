import { and, type Expression } from '../../core/cql2/index.js';
import type { EditOutcome } from '../../core/edits/edits.js';
import { badParameter } from '../../core/errors/errors.js';
import type { Crs } from '../../core/geometry/crs.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { TaskContext } from '../kit/run-task.js';
import { countEdits, type LayerEdits, listOperations, requireDistinctFeatures } from './layer-edits.js';
import { keyedOperations, numberedOutcomes } from './numbered-edits.js';
import { coordinatesIn, type EditDeps, type EditTarget } from './target.js';

/** Edits of a layer that its editor may try. */
export interface EditPlan extends EditTarget {
  readonly crs: Crs;
  readonly edits: LayerEdits;
}

/** Throws 400 for too many edits, and for two of one feature. */
export function planEdits(target: EditTarget, crs: Crs, sent: LayerEdits): EditPlan {
  // Ids of new features are the store's.
  const edits = { ...sent, adds: sent.adds.map((one) => ({ ...one, id: undefined })) };
  requireCount(countEdits(edits));
  requireDistinctFeatures(edits, target.visible.layerId);
  return { ...target, crs, edits };
}

/** Throws 400 for more edits than one request may have. */
export function requireCount(edits: number): void {
  if (edits > LIMITS.batchOperations)
    throw badParameter(
      'edits',
      `must have at most ${LIMITS.batchOperations} operations. Send several requests`,
    );
}

/** The plan restricted to features that pass a filter, because they may have changed since the look-up. */
export function narrowPlan(plan: EditPlan, filter: Expression | undefined): EditPlan {
  return { ...plan, task: { ...plan.task, filter: and(plan.task.filter, filter) } };
}

/** Runs the edits in one transaction. Returns the outcomes of adds, updates and deletes, in this order, with numbers as ids. */
export async function runEditPlan(
  x: TaskContext,
  { pools, edits: store }: Pick<EditDeps, 'pools' | 'edits'>,
  { collection, visible, task, crs, edits }: EditPlan,
  mode: 'atomic' | 'each',
): Promise<EditOutcome[]> {
  const operations = listOperations(edits);
  if (operations.length === 0) return [];
  const { outcomes } = await store.run(x, collection, {
    ...task,
    ...coordinatesIn(crs, 'x-y'),
    mode,
    operations: await keyedOperations(x, pools, visible, operations),
  });
  return numberedOutcomes(x, pools, visible, { operations, outcomes });
}
