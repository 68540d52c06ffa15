import type { EditTask, GeometryLoss } from '../../core/edits.js';
import { membersIn, mergePatchText, sameJson } from '../../core/json-text.js';
import { deletion, insertion, update } from './events.js';
import type { PreparedEdit } from './prepare.js';
import { type EditSession, type NewEvent, Refusal, type RowChange, type StoredFeature } from './session.js';

/** Carries out one operation. Throws `Refusal` for what the store does not take. */
export async function apply(session: EditSession, task: EditTask, edit: PreparedEdit): Promise<NewEvent> {
  const { operation } = edit;
  if (operation.type === 'create') return create(session, operation.id, edit);
  const { id } = operation;
  const before = await session.read(id);
  if (!before) throw new Refusal('not-found', `There is no feature '${id.slice(0, 100)}'.`);
  if (operation.row !== undefined && operation.row !== before.row)
    throw new Refusal('changed', 'The feature has changed since it was read.');
  if (operation.type === 'delete') {
    await session.delete(id);
    return deletion(before);
  }
  const isReplaced = operation.type === 'replace';
  if (!task.acceptsLoss) requireNoLoss(before, isReplaced ? (edit.geometry ?? null) : edit.geometry);
  await session.update(id, isReplaced ? replacement(task, edit, before) : patch(task, edit, before));
  const after = await session.read(id);
  if (!after) throw movedOut();
  return update(before, after);
}

async function create(
  session: EditSession,
  requestedId: string | undefined,
  edit: PreparedEdit,
): Promise<NewEvent> {
  if (requestedId !== undefined && (await session.exists(requestedId)))
    throw new Refusal('conflict', `There is a feature '${requestedId.slice(0, 100)}' already.`);
  const { geometry = null, values } = edit;
  const id = await session.insert(requestedId, { geometry, values, reset: [] });
  const after = await session.read(id);
  if (!after) throw movedOut();
  return insertion(after);
}

const LOSSES: Readonly<Record<GeometryLoss, string>> = {
  arcs: 'has circular arcs, which edits cannot write',
  surface: 'is a polyhedral surface, a TIN or a triangle, which edits cannot write',
  measures: 'has measures (M), which edits cannot write',
  unreadable: 'cannot be read by the server, or only in part',
};

/** Refuses a geometry in the place of one that clients do not see as it is stored. `undefined` keeps what is stored. */
export function requireNoLoss({ id, loss }: StoredFeature, geometry: Uint8Array | null | undefined): void {
  if (loss === undefined || geometry === undefined) return;
  throw new Refusal(
    'conflict',
    `geometry: the stored geometry of feature '${id.slice(0, 100)}' ${LOSSES[loss]}. This edit would replace it. To keep it, send a change of the properties alone; to replace it, send the header Geometry-Loss: accept.`,
  );
}

export function movedOut(): Refusal {
  return new Refusal('forbidden', 'The feature would lie outside of what you may change.');
}

/**
 * A replaced feature keeps nothing that its author may change, but values that came back as they were read: JSON says of
 * `infinity` that it is null, and has one form for several decimals.
 */
function replacement(
  { source, visible, writable }: EditTask,
  { operation, geometry = null, values }: PreparedEdit,
  before: StoredFeature,
): RowChange {
  const reset = source.fields.filter(
    ({ name, generated }) =>
      !generated &&
      !values.has(name) &&
      (visible?.includes(name) ?? true) &&
      (writable?.includes(name) ?? true),
  );
  const sent = 'feature' in operation ? (operation.feature.values ?? {}) : {};
  const stored = membersIn(before.properties)!;
  const changed = [...values].filter(([name]) => {
    const [now, was] = [sent[name], stored.get(name)];
    return now === undefined || was === undefined || !sameJson(now, was);
  });
  return { geometry, values: new Map(changed), reset: reset.map((field) => field.name) };
}

/** JSON members are patched in depth, all others set. */
function patch({ source }: EditTask, { geometry, values }: PreparedEdit, before: StoredFeature): RowChange {
  const deep = source.fields.filter(
    ({ name, type }) => type === 'json' && (values.get(name) as string | null | undefined)?.[0] === '{',
  );
  if (deep.length === 0) return { geometry, values, reset: [] };
  const stored = membersIn(before.properties)!;
  const merged = new Map(values);
  for (const { name } of deep) merged.set(name, mergePatchText(stored.get(name), values.get(name) as string));
  return { geometry, values: merged, reset: [] };
}
