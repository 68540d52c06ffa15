import type { MergeCounts, MergeResult, MergeTask } from '../../../core/edits/merges.js';
import type { Cancellation } from '../../threads/cancellation.js';
import { EditRefusal } from '../session.js';
import { writeReport } from './report.js';
import type { MergeSession } from './session.js';
import { MergeSpool } from './spool.js';
import { buildMergeResult, writeRows } from './write.js';

const NOTHING: MergeCounts = { inserted: 0, updated: 0, unchanged: 0, deleted: 0, rejected: 0 };

/**
 * Writes the rows of a merge in one transaction of a store: rows, events and the result become durable together, or
 * not at all. A merge that has already committed returns its former result.
 */
export async function runMerge(
  task: MergeTask,
  begin: () => Promise<MergeSession>,
  cancellation?: Cancellation,
): Promise<MergeResult> {
  try {
    const session = await begin();
    try {
      return await inSession(session, task, cancellation);
    } catch (error) {
      // The first failure is reported. A broken connection has already rolled back.
      await session.edits.rollback().catch(() => {});
      throw error;
    }
  } catch (error) {
    // The store accepts no change: the transaction could not start, or it violated a rule that is checked at the end.
    if (!(error instanceof EditRefusal)) throw error;
    return { ...NOTHING, rejections: [], refusal: error.message };
  }
}

async function inSession(
  session: MergeSession,
  task: MergeTask,
  cancellation: Cancellation | undefined,
): Promise<MergeResult> {
  const receipt = await session.receipt();
  if (receipt !== undefined) {
    await session.edits.rollback();
    return JSON.parse(receipt) as MergeResult;
  }
  const spool = MergeSpool.open(task.spool);
  try {
    const written = await writeRows({ session, task, spool, cancellation });
    const isRefused = 'row' in written;
    if (spool.rejectedCount > 0) writeReport(spool, task.report);
    if (isRefused) {
      await session.edits.rollback();
      const { rejected, rejections } = buildMergeResult(NOTHING, spool);
      return { ...NOTHING, rejected, rejections, refusal: `Row ${written.row}: ${written.reason}` };
    }
    await session.keepReceipt(JSON.stringify(written));
    cancellation?.check();
    const writes = await session.edits.commit();
    const { change } = written;
    return change && writes ? { ...written, change: { ...change, writes } } : written;
  } finally {
    spool.close();
  }
}
