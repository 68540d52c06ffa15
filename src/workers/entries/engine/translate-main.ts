/** Entry of a process that translates files, one after another; see engine/translate-starter.ts. */

import { importRaster } from '../../exchange/ogr/import.js';
import { preview } from '../../exchange/ogr/sample.js';
import { stage } from '../../exchange/ogr/stage.js';
import { translate } from '../../exchange/ogr/translate.js';
import {
  type FromTranslator,
  SQLITE_SETTINGS,
  type TranslatorOrder,
  type TranslatorTask,
} from '../../exchange/ogr/translation.js';
import { unpackArchive } from '../../exchange/ogr/unpack.js';
import { gdal } from '../../gdal/gdal.js';
import { partPath, removePart } from '../../gdal/parts.js';
import { processRaster } from '../../processes/rasters/process.js';
import { runTaskBody } from '../../threads/failure.js';

process.title = 'graticule: engine import';

const BODIES = {
  'ogr.preview': preview,
  'ogr.stage': stage,
  'ogr.translate': translate,
  'ogr.unpack': unpackArchive,
  'raster.import': importRaster,
  'raster.process': processRaster,
};

for (const [name, value] of SQLITE_SETTINGS) gdal.config.set(name, value);

/** The file that is being written. */
let part: string | undefined;

// GDAL runs on another thread, so that this one detects the end of its engine.
process.once('disconnect', async () => {
  if (part !== undefined) await removePart(part);
  process.kill(process.pid, 'SIGKILL');
});

process.on('message', async ({ task, input }: TranslatorOrder<TranslatorTask>) => {
  const body = BODIES[task] as (
    input: unknown,
    part: string | undefined,
    onProgress: (fraction: number) => void,
  ) => Promise<never>;
  // A preview does not write a file.
  const file = 'output' in input ? partPath(input.output, process.pid) : undefined;
  part = file;
  const send = (message: FromTranslator<never>) => void process.send?.(message);
  const result = await runTaskBody(() => body(input, file, (progress) => send({ progress })));
  part = undefined;
  send({ answer: result });
});
