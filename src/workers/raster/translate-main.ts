/** Entry of the process that translates one vector file; see engine/translate-process.ts. */

import type { TaskInput } from '../../core/tasks.js';
import { answer } from '../failure.js';
import { translate } from './translate.js';
import { type FromTranslator, partPath, removePart } from './translation.js';

process.title = 'graticule: engine import';

process.once('message', async ({ input }: { input: TaskInput<'ogr.translate'> }) => {
  const part = partPath(input.output, process.pid);
  // GDAL runs on another thread, so that this one notices when its engine is gone.
  process.once('disconnect', async () => {
    await removePart(part);
    process.kill(process.pid, 'SIGKILL');
  });
  const send = (message: FromTranslator) =>
    new Promise<void>((resolve) => process.send?.(message, undefined, undefined, () => resolve()));
  const result = await answer(() => translate(input, part, (progress) => void send({ progress })));
  await send({ answer: result });
  process.removeAllListeners('disconnect');
  process.exit(0);
});
