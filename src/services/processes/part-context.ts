import type { JobContext } from '../jobs/kinds.js';

/** Saved states of the parts of a job, by their names. */
export type SavedParts = Record<string, unknown>;

/** The context of one part of a job. Its saved state is stored next to the states of the other parts. */
export function partContext<I>(context: JobContext<I>, name: string, saved: SavedParts): JobContext<I> {
  return derivedContext(context, {
    saved: saved[name],
    checkpoint: (data) => {
      saved[name] = data;
      return context.checkpoint(saved);
    },
  });
}

/** A job context with some members replaced. */
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
