/**
 * Entry of the process of `host.ts`, which `host-bundle.mjs` has bundled. The first such process writes the code that V8 compiled
 * once its first server has stopped; the next ones load that code.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { bundlePath } from './host-bundle.mjs';

const bundle = bundlePath();
const signal = `${bundle}.record`;
if (!existsSync(`${bundle}.compiled`)) {
  process.env.GRATICULE_RECORD_COMPILED = signal;
  process.on('message', ({ order }) => order === 'stop' && writeFileSync(signal, ''));
}
createRequire(import.meta.url)('../../src/bundle-loader.cjs')(bundle);
delete process.env.GRATICULE_RECORD_COMPILED;
