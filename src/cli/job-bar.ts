import { SingleBar } from 'cli-progress';

/** A bar of the progress of a job, with what it does now as `phase`. */
export function jobBar(): SingleBar {
  const bar = new SingleBar({ format: '  {bar} {percentage}% {phase}', barsize: 30, hideCursor: true });
  bar.start(100, 0, { phase: 'waiting' });
  return bar;
}
