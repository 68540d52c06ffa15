/** Rejection of a wait for a job that outlives it: the server stops, and runs the job after its next start. */
export class JobContinues extends Error {
  constructor(readonly jobId: string) {
    super(`The server is stopping; the job ${jobId} continues after its next start.`);
  }
}
