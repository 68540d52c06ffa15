import type { JobContext } from '../jobs/kinds.js';

/** What the parts of a job have saved, by their names. */
export type SavedParts = Record<string, unknown>;

/** A job as one of its parts sees it: what it saves stands beside what the others have saved. */
export function partContext<I>(context: JobContext<I>, name: string, saved: SavedParts): JobContext<I> {
  return derivedContext(context, {
    saved: saved[name],
    checkpoint: (data) => {
      saved[name] = data;
      return context.checkpoint(saved);
    },
  });
}

/** A job with some members of its own. */
export function derivedContext<I>(context: JobContext<I>, own: Partial<JobContext<I>>): JobContext<I> {
  const { id, input, submitter, attempt, saved, signal } = context;
  return {
    id,
    input,
    submitter,
    attempt,
    saved,
    signal,
    progress: (fraction) => context.progress(fraction),
    step: (phase, message, work, always) => context.step(phase, message, work, always),
    requireCaller: () => context.requireCaller(),
    log: (level, message) => context.log(level, message),
    warn: (message) => context.warn(message),
    checkpoint: (data) => context.checkpoint(data),
    artifact: (artifact) => context.artifact(artifact),
    divide: (parts, tell) => context.divide(parts, tell),
    ...own,
  };
}
