import { TaskFailure } from '../../../core/errors/failure.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { RASTER_LIMITS } from '../../../core/rasters/limits.js';
import type { SceneSearch, SceneSearchTask } from '../../../core/stac/stac-scenes.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { Turns } from '../../kit/turns.js';

export type Runner = Pick<Pools, 'run'>;

const turns = new WeakMap<Runner, Turns>();

/** Searches a STAC API in turn, because geocoding and imports also need the ingest thread. */
export async function searchInTurn(pools: Runner, task: SceneSearchTask): Promise<SceneSearch> {
  const own = turns.get(pools) ?? new Turns(RASTER_LIMITS.stacSearches);
  turns.set(pools, own);
  const giveBack = await own.take();
  try {
    return await pools.run('ingest.stacScenes', task);
  } finally {
    giveBack();
  }
}

/** Waits for shared work: at most as long as a request may take, and only while its client is connected. */
export function waitFor<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () =>
      end(() =>
        reject(new TaskFailure('deadline-exceeded', 'The STAC API did not respond in time. Retry later.')),
      );
    const left = () =>
      end(() => reject(new TaskFailure('cancelled', 'The request for the scenes was cancelled.')));
    const timer = setTimeout(late, LIMITS.requestDeadlineMs);
    const end = (settle: () => void) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', left);
      settle();
    };
    signal?.addEventListener('abort', left, { once: true });
    if (signal?.aborted) left();
    work.then(
      (value) => end(() => resolve(value)),
      (error: unknown) => end(() => reject(error)),
    );
  });
}
