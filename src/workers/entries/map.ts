/**
 * Only thread of an engine that runs Mapnik. Its calls are asynchronous, so it runs several tasks at the same time.
 */

import { TaskFailure } from '../../core/errors/failure.js';
import { type RenderTask, render } from '../maps/render.js';
import { Cancellation } from '../threads/cancellation.js';
import { runTaskBody, type TaskResponse } from '../threads/failure.js';
import { moved, type ThreadTask } from '../threads/thread.js';

export default async function run({ task, input, flag }: ThreadTask): Promise<TaskResponse> {
  return moved(
    await runTaskBody(async () => {
      if (task !== 'map.render') throw new TaskFailure('invalid-input', 'Unknown task.');
      return render(input as RenderTask, new Cancellation(flag));
    }),
  );
}
