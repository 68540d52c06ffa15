/** The one thread of an engine that runs Mapnik; its calls are asynchronous, so that it takes several tasks at once. */

import { TaskFailure } from '../../core/errors/failure.js';
import { type RenderTask, render } from '../maps/render.js';
import { Cancellation } from '../threads/cancellation.js';
import { type Answer, answer } from '../threads/failure.js';
import { moved, type ThreadTask } from '../threads/thread.js';

export default async function run({ task, input, flag }: ThreadTask): Promise<Answer> {
  return moved(
    await answer(async () => {
      if (task !== 'map.render') throw new TaskFailure('invalid-input', 'Unknown task.');
      return render(input as RenderTask, new Cancellation(flag));
    }),
  );
}
