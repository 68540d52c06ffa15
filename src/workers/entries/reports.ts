import type { ReportTasks } from '../../core/compliance/compliance.js';
import { writeReportPdf } from '../reports/report-pdf.js';
import { runTaskBody } from '../threads/failure.js';
import { lowerPriority, WORKER_NICENESS } from '../threads/niceness.js';
import type { OneThreadMessage } from '../threads/one-thread.js';
import { moved } from '../threads/thread.js';

/** Thread side of reports, whose layout takes longer than the event loop may wait. */

lowerPriority(WORKER_NICENESS);

export default async function runTask({ input }: OneThreadMessage<keyof ReportTasks>) {
  const { report } = input as ReportTasks['report.pdf']['input'];
  return moved(await runTaskBody<unknown>(() => writeReportPdf(report)));
}
