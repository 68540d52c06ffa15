import type { JobEngine } from '../services/jobs/engine.js';
import type { JobRow } from '../stores/jobs/jobs.js';
import { CommandError, EXIT_FAILED } from './command-error.js';
import { jobBar } from './job-bar.js';

const POLL_MS = 150;

/** Shows the progress of a job until it ends. It is read from the row of the job, wherever the job runs. */
export async function followJob(jobs: JobEngine, id: string): Promise<JobRow> {
  const bar = jobBar();
  for (;;) {
    const row = await jobs.store.get(id);
    if (!row) throw new Error('The job was deleted.');
    bar.update(Math.round((row.state === 'Succeeded' ? 1 : (row.fraction ?? 0)) * 100), {
      phase: row.phase ?? '',
    });
    if (row.state !== 'Queued' && row.state !== 'Running') {
      bar.stop();
      if (row.state !== 'Succeeded')
        throw new CommandError(
          `The import ${row.state.toLowerCase()}: ${row.failure_message ?? 'no reason is known.'}`,
          EXIT_FAILED,
        );
      return row;
    }
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}
