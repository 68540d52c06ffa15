import { ApiError } from '../../core/errors/errors.js';
import type { EventImage } from '../../core/streams/events.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { runTask, type TaskContext } from '../kit/run-task.js';
import { shownAttributes } from '../streams/shown.js';
import type { ReplicaLayerView } from './layer-view.js';
import type { NetChange } from './net-changes.js';

/** Ids of the features that entered a replica's part of a layer, changed in it, or left it. */
export interface LayerDelta {
  readonly adds: string[];
  readonly updates: string[];
  readonly deletes: string[];
}

/** Effects of changes for a client that sees only a part of a layer. A feature that leaves the part is deleted. */
export async function layerDelta(
  x: TaskContext,
  pools: Pools,
  view: ReplicaLayerView,
  changes: Iterable<NetChange>,
): Promise<LayerDelta> {
  const list = [...changes];
  const [before, after] = await Promise.all([
    checkVisibleImages(
      x,
      pools,
      view,
      list.map(({ before }) => before),
    ),
    checkVisibleImages(
      x,
      pools,
      view,
      list.map(({ after }) => after),
    ),
  ]);
  const delta: LayerDelta = { adds: [], updates: [], deletes: [] };
  list.forEach((change, i) => {
    if (!before[i] && after[i]) delta.adds.push(change.id);
    else if (before[i] && !after[i]) delta.deletes.push(change.id);
    else if (before[i] && shows(change, view)) delta.updates.push(change.id);
  });
  return delta;
}

/** Whether a change is visible: it changes a visible attribute or the geometry. */
function shows({ before, after }: NetChange, { scope }: ReplicaLayerView): boolean {
  if (before!.geometry !== after!.geometry) return true;
  const [was, is] = [before!, after!].map(({ attributes }) => shownAttributes(attributes, scope.fields));
  return was !== is;
}

/** Number of images that one task checks. */
const BATCH = 500;

/** Whether each feature exists for the principal, in its part of the layer. False for a missing image. */
export async function checkVisibleImages(
  x: TaskContext,
  pools: Pools,
  { scope, visible }: ReplicaLayerView,
  images: readonly (EventImage | null)[],
): Promise<boolean[]> {
  if (scope.filter === undefined) return images.map((image) => image !== null);
  const { idColumn, geometryColumn, fields } = visible.rule?.stored ?? visible.source;
  const results: boolean[] = [];
  const present = images.filter((image) => image !== null);
  for (let i = 0; i < present.length; i += BATCH) {
    const batch = present.slice(i, i + BATCH);
    const { passed, problems } = await runTask(x, pools, 'vector.match', {
      schema: { idColumn, geometryColumn, fields },
      filters: [scope.filter],
      images: batch,
    });
    // An unknown result must not appear as a feature that left the part.
    if (problems[0])
      throw new ApiError(
        'unavailable',
        'The filter of the replica took too long. Use a simpler filter, or retry later.',
      );
    for (let n = 0; n < batch.length; n++) results.push(passed[n] === 1);
  }
  const next = results.values();
  return images.map((image) => image !== null && next.next().value!);
}
