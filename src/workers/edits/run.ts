import { changeOf } from '../../core/edit-areas.js';
import type { EditFailure, EditOutcome, EditResult, EditTask } from '../../core/edits.js';
import { TaskFailure } from '../../core/failure.js';
import { mergePatch } from '../../core/feature-values.js';
import { isPresent } from '../../core/presence.js';
import { deletion, insertion, update } from './events.js';
import { positionCount } from './extremes.js';
import { failure, isFailure, type PreparedEdit, prepare } from './prepare.js';
import { type EditSession, type NewEvent, Refusal, type RowChange, type StoredFeature } from './session.js';

/**
 * Runs a task's operations in one transaction of a store: rows and events become durable together, or not at all.
 * `begin` opens the transaction; it is not called when no operation is fit to be tried.
 */
export async function runEdits(task: EditTask, begin: () => Promise<EditSession>): Promise<EditResult> {
  const prepared = prepare(task);
  const failed = prepared.findIndex(isFailure);
  if (prepared.every(isFailure) || (task.mode === 'atomic' && failed >= 0)) {
    return { outcomes: withoutTransaction(prepared, task, failed) };
  }
  try {
    return await inSession(await begin(), task, prepared);
  } catch (error) {
    // The store takes none of it: the transaction could not begin, or a rule that is looked at last was broken.
    if (!(error instanceof Refusal)) throw error;
    return { outcomes: prepared.map(() => error.outcome) };
  }
}

function withoutTransaction(
  prepared: readonly (PreparedEdit | EditFailure)[],
  { mode }: EditTask,
  failed: number,
): EditOutcome[] {
  if (mode === 'atomic') return undone(prepared.length, failed, prepared[failed] as EditFailure);
  const failures = prepared as EditFailure[];
  return mode === 'each' ? failures : failures.slice(0, 1);
}

async function inSession(
  session: EditSession,
  task: EditTask,
  prepared: readonly (PreparedEdit | EditFailure)[],
): Promise<EditResult> {
  try {
    const outcomes: EditOutcome[] = [];
    const events: NewEvent[] = [];
    for (const edit of prepared) {
      const outcome = isFailure(edit) ? edit : await attempt(session, task, edit, events);
      outcomes.push(outcome);
      if (!outcome.ok && task.mode !== 'each') break;
    }
    const last = outcomes[outcomes.length - 1];
    const undo = task.mode === 'atomic' && last && !last.ok;
    if (task.presence && !isPresent(task.presence)) throw absent();
    if (events.length > 0 && !undo) {
      const cursor = await session.record(events);
      await session.commit();
      return { outcomes, change: changeOf(events, cursor), positions: positionsOf(prepared) };
    }
    await session.rollback();
    return { outcomes: undo ? undone(prepared.length, outcomes.length - 1, last) : outcomes };
  } catch (error) {
    // The first failure is the one to tell; a connection that is gone has rolled back by itself.
    await session.rollback().catch(() => {});
    throw error;
  }
}

function absent(): TaskFailure {
  return new TaskFailure('absent', 'The server was away for too long; send the request again.');
}

function positionsOf(prepared: readonly (PreparedEdit | EditFailure)[]): number[] {
  return prepared.flatMap((edit) =>
    isFailure(edit) || !edit.geometry ? [] : [positionCount(edit.geometry)],
  );
}

/** Outcomes of an atomic edit whose operation number `index` failed. */
function undone(count: number, index: number, reason: EditFailure): EditOutcome[] {
  const other = failure('undone', `Nothing was changed: operation ${index + 1} failed.`);
  return Array.from({ length: count }, (_, i) => (i === index ? reason : other));
}

/** One operation; a refusal leaves the transaction as it was before. A lone operation needs no savepoint for that. */
async function attempt(
  session: EditSession,
  task: EditTask,
  edit: PreparedEdit,
  events: NewEvent[],
): Promise<EditOutcome> {
  const many = task.operations.length > 1;
  if (many) await session.savepoint();
  try {
    const event = await apply(session, task, edit);
    if (many) await session.keep();
    events.push(event);
    return { ok: true, id: event.featureId };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (many) await session.undo();
    return error.outcome;
  }
}

async function apply(session: EditSession, task: EditTask, edit: PreparedEdit): Promise<NewEvent> {
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
  await session.update(
    id,
    operation.type === 'replace' ? replacement(task, edit) : patch(task, edit, before),
  );
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

export function movedOut(): Refusal {
  return new Refusal('forbidden', 'The feature would lie outside of what you may change.');
}

/** A replaced feature keeps nothing that its author may change. */
function replacement(
  { source, visible, writable }: EditTask,
  { geometry = null, values }: PreparedEdit,
): RowChange {
  const reset = source.fields.filter(
    ({ name, generated }) =>
      !generated &&
      !values.has(name) &&
      (visible?.includes(name) ?? true) &&
      (writable?.includes(name) ?? true),
  );
  return { geometry, values, reset: reset.map((field) => field.name) };
}

/** JSON members are patched in depth, all others set. */
function patch({ source }: EditTask, { geometry, values }: PreparedEdit, before: StoredFeature): RowChange {
  const deep = source.fields.filter(
    ({ name, type }) => type === 'json' && (values.get(name) as string | null | undefined)?.[0] === '{',
  );
  if (deep.length === 0) return { geometry, values, reset: [] };
  const stored = JSON.parse(before.properties) as Record<string, unknown>;
  const merged = new Map(values);
  for (const { name } of deep) {
    const sent = JSON.parse(values.get(name) as string);
    merged.set(name, JSON.stringify(mergePatch(stored[name], sent)));
  }
  return { geometry, values: merged, reset: [] };
}
