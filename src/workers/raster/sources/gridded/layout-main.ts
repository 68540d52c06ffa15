/** Entry of the process that reads one layout; see layout-process.ts. */

import { answer } from '../../../failure.js';
import { formatNamed } from './format.js';
import { layoutOf } from './layout.js';
import type { LayoutRequest } from './layout-process.js';

process.title = 'graticule: engine axes';
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));

process.once('message', async ({ path, driver }: LayoutRequest) => {
  const result = await answer(() => layoutOf(path, formatNamed(driver)));
  // What is left open ends with the process; exit handlers of the libraries would crash over it.
  process.send!(result, () => process.kill(process.pid, 'SIGKILL'));
});
