import { mergeChanges } from '../../core/edits/edit-areas.js';
import type { EditFailure, EditOutcome, EditResult, EditTask } from '../../core/edits/edits.js';
import { TaskFailure } from '../../core/errors/failure.js';
import { isPresent } from '../../core/values/presence.js';
import { apply } from './apply.js';
import { applyCalculation } from './calculation.js';
import { positionCount } from './extremes.js';
import { failure, isFailure, type PreparedEdit, prepare } from './prepare.js';
import { type EditAttempts, EditRefusal, type EditSession, type NewEvent } from './session.js';

/**
 * Runs a task's operations in one transaction of a store: rows and events become durable together, or not at all.
 * `begin` opens the transaction; it is not called when no operation is fit to be tried.
 */
export async function runEdits(task: EditTask, begin: () => Promise<EditSession>): Promise<EditResult> {
  const { calculation } = task;
  if (calculation) {
    const attempts = (session: EditSession) => applyCalculation(session, task, calculation);
    const result = await inTransaction(task, begin, attempts);
    return 'refusal' in result ? { outcomes: [result.refusal] } : result;
  }
  const prepared = prepare(task);
  const failed = prepared.findIndex(isFailure);
  if (prepared.every(isFailure) || (task.mode === 'atomic' && failed >= 0)) {
    return { outcomes: withoutTransaction(prepared, task, failed) };
  }
  const result = await inTransaction(task, begin, (session) => attemptAll(session, task, prepared));
  if ('refusal' in result) return { outcomes: prepared.map(() => result.refusal) };
  return { ...result, positions: listPositions(prepared) };
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

async function inTransaction(
  { presence }: EditTask,
  begin: () => Promise<EditSession>,
  attempts: (session: EditSession) => Promise<EditAttempts>,
): Promise<EditResult | { refusal: EditFailure }> {
  try {
    const session = await begin();
    try {
      const { outcomes, events } = await attempts(session);
      if (presence && !isPresent(presence)) throw absent();
      if (events.length > 0) {
        const cursor = await session.record(events);
        const writes = await session.commit();
        return { outcomes, change: { ...mergeChanges(events, cursor), ...(writes && { writes }) } };
      }
      await session.rollback();
      return { outcomes };
    } catch (error) {
      // The first failure is reported. A broken connection has already rolled back.
      await session.rollback().catch(() => {});
      throw error;
    }
  } catch (error) {
    // The store accepts no change: the transaction could not start, or it violated a rule that is checked at the end.
    if (!(error instanceof EditRefusal)) throw error;
    return { refusal: error.outcome };
  }
}

async function attemptAll(
  session: EditSession,
  task: EditTask,
  prepared: readonly (PreparedEdit | EditFailure)[],
): Promise<EditAttempts> {
  const outcomes: EditOutcome[] = [];
  const events: NewEvent[] = [];
  for (const edit of prepared) {
    const outcome = isFailure(edit) ? edit : await attempt(session, task, edit, events);
    outcomes.push(outcome);
    if (!outcome.ok && task.mode !== 'each') break;
  }
  const last = outcomes.at(-1);
  if (task.mode !== 'atomic' || !last || last.ok) return { outcomes, events };
  return { outcomes: undone(prepared.length, outcomes.length - 1, last), events: [] };
}

function absent(): TaskFailure {
  return new TaskFailure('absent', 'The server was unreachable for too long. Send the request again.');
}

function listPositions(prepared: readonly (PreparedEdit | EditFailure)[]): number[] {
  return prepared.flatMap((edit) =>
    isFailure(edit) || !edit.geometry ? [] : [positionCount(edit.geometry)],
  );
}

/** Outcomes of an atomic edit whose operation number `index` failed. */
function undone(count: number, index: number, reason: EditFailure): EditOutcome[] {
  const other = failure('undone', `No feature was changed: operation ${index + 1} failed.`);
  return Array.from({ length: count }, (_, i) => (i === index ? reason : other));
}

/**
 * Runs one operation. A refusal leaves the transaction unchanged. A single operation does not need a savepoint for
 * that.
 */
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
    if (!(error instanceof EditRefusal)) throw error;
    if (many) await session.undo();
    return error.outcome;
  }
}
