/**
 * Only thread of an engine that runs Mapnik. Its calls are asynchronous, so it runs several tasks at the same time.
 */

import { TaskFailure } from '../../core/errors/failure.js';
import { inTaskScope, TaskScope } from '../../core/observability/task-scope.js';
import { type RenderTask, render } from '../maps/render.js';
import { Cancellation } from '../threads/cancellation.js';
import { preciseNow, runTaskBody, type TaskResponse, workSince } from '../threads/failure.js';
import { reportThread } from '../threads/look.js';
import { moved, type ThreadTask } from '../threads/thread.js';

export default async function run({ task, input, flag, request }: ThreadTask): Promise<TaskResponse> {
  if (task === 'engine.look') return runTaskBody(async () => reportThread('map'));
  const start = preciseNow();
  const result = await runTaskBody(async () => {
    if (task !== 'map.render') throw new TaskFailure('invalid-input', 'Unknown task.');
    const draw = () => render(input as RenderTask, new Cancellation(flag));
    return inTaskScope(new TaskScope(task, request), draw);
  });
  result.work = workSince(start);
  return moved(result);
}
