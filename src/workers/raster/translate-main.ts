/** Entry of the process that translates one file; see engine/translate-starter.ts. */

import { answer } from '../failure.js';
import { importRaster } from './import.js';
import { translate } from './translate.js';
import {
  type FromTranslator,
  partPath,
  removePart,
  type TranslatorOrder,
  type TranslatorTask,
} from './translation.js';
import { unpack } from './unpack.js';

process.title = 'graticule: engine import';

const BODIES = { 'ogr.translate': translate, 'ogr.unpack': unpack, 'raster.import': importRaster };

process.once('message', async ({ task, input }: TranslatorOrder<TranslatorTask>) => {
  const body = BODIES[task] as (
    input: unknown,
    part: string,
    onProgress: (fraction: number) => void,
  ) => Promise<never>;
  const part = partPath(input.output, process.pid);
  // GDAL runs on another thread, so that this one notices when its engine is gone.
  process.once('disconnect', async () => {
    await removePart(part);
    process.kill(process.pid, 'SIGKILL');
  });
  const send = (message: FromTranslator<never>) =>
    new Promise<void>((resolve) => process.send?.(message, undefined, undefined, () => resolve()));
  const result = await answer(() => body(input, part, (progress) => void send({ progress })));
  await send({ answer: result });
  process.removeAllListeners('disconnect');
  process.exit(0);
});
