import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { build } from 'esbuild';
import { bundleOptions, escapeText, src } from './bundle-options.mjs';
import { writeLicences } from './licences.mjs';

/**
 * Writes each entry of a process or thread over the module that the compiler wrote, with everything that it imports in one
 * file: looking for, reading and linking a thousand modules took half of the server's start. The file is CommonJS, because
 * Node.js 20 can load compiled code only for scripts (bundle-loader.cjs, compile-cache.mjs).
 */
const ENTRIES = [
  'cli/main',
  'gateway/start/main',
  'workers/entries/archive',
  'workers/entries/engine/main',
  'workers/entries/engine/translate-starter',
  'workers/entries/geocoding',
  'workers/entries/map',
  'workers/pools/process/host',
  'workers/entries/process',
  'workers/rasters/sources/remote/thread',
  'workers/entries/engine/translate-main',
  'workers/entries/raster',
  'workers/entries/state',
  'workers/entries/storage',
  'workers/entries/symbols',
  'workers/entries/diagnostics',
  'workers/entries/tile-store',
  'workers/entries/vector',
];

const dist = join(src, '../dist');

const { metafile } = await build({
  entryPoints: ENTRIES.map((entry) => join(src, `${entry}.ts`)),
  outbase: src,
  outdir: dist,
  // Compiled code belongs to one text: V8 compares only the length.
  entryNames: '[dir]/[name]-[hash]',
  ...bundleOptions(
    "require('node:url').pathToFileURL(__filename.slice(0, __filename.lastIndexOf('/dist/') + 6)).href",
  ),
});

await copyFile(join(src, 'bundle-loader.cjs'), join(dist, 'bundle-loader.cjs'));
for (const [path, { entryPoint }] of Object.entries(metafile.outputs)) {
  await writeFile(path, escapeText(await readFile(path, 'utf8')));
  await writeEntry(relative('src', entryPoint).replace(/\.ts$/, ''), basename(path));
}

/** The module that processes and threads are started with: it loads the bundle next to it. */
async function writeEntry(entry, bundle) {
  const loader = relative(dirname(entry), 'bundle-loader.cjs');
  const text = `#!/usr/bin/env node
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
const load = createRequire(import.meta.url)('${loader.startsWith('.') ? loader : `./${loader}`}');
export default load(fileURLToPath(new URL('${bundle}', import.meta.url))).default;
`;
  await writeFile(join(dist, `${entry}.js`), text);
}

await writeLicences(
  join(dist, 'licences/server.txt'),
  'Packages that are part of the server in dist/, and their licences.',
  Object.keys(metafile.inputs),
);
