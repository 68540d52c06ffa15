import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
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
  'workers/entries/tile-store',
  'workers/entries/vector',
];

/** Packages with native parts, threads or files of their own, and what finds its parts while it runs. */
const EXTERNAL = [
  '@btc-vision/uwebsockets.js',
  '@mapbox/maki',
  '@mapnik/mapnik',
  '@opentelemetry/*',
  'argon2',
  'msgpackr-extract',
  'pdfkit',
  'pg-native',
  'pino',
  'pino-pretty',
  'piscina',
  'sharp',
  'uWebSockets.js',
  'yauzl',
];

const src = dirname(fileURLToPath(import.meta.url));

/** Modules find files and threads from where they would be, not from the file that they became a part of. */
const ownPlace = {
  name: 'own place',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const place = JSON.stringify(relative(src, path));
      const contents = text.replace(/^#!.*/, '').replaceAll('import.meta.url', `(DIST_URL + ${place})`);
      return { contents, loader: 'ts' };
    });
  },
};

/**
 * The JavaScript of gdal-async is bundled: each engine loads it twice, and half of the time went into hundreds of small
 * files, most of them of the package that finds its native part. That part and its data stay where the package is.
 * `wrapVRT`, which nothing here calls, stays out: the XML library that it is written with took a quarter of the rest.
 */
const gdal = {
  name: 'gdal-async',
  setup({ onLoad, onResolve }) {
    onLoad({ filter: /\/gdal-async\/lib\/gdal\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const contents = text
        .replaceAll('__dirname', 'GDAL_FOLDER')
        .replace("gdal.wrapVRT = require('./wrapVRT')", '');
      return { contents, loader: 'js' };
    });
    onResolve({ filter: /^@mapbox\/node-pre-gyp$/ }, ({ path }) => ({ path, namespace: 'gdal-async' }));
    onLoad({ filter: /^@mapbox\/node-pre-gyp$/, namespace: 'gdal-async' }, () => ({
      contents: `const { versions, platform, arch } = process;
exports.find = () => \`\${GDAL_FOLDER}/binding/node-v\${versions.modules}-\${platform}-\${arch}/gdal.node\`;`,
      resolveDir: src,
    }));
  },
};

const dist = join(src, '../dist');

const { metafile } = await build({
  entryPoints: ENTRIES.map((entry) => join(src, `${entry}.ts`)),
  outbase: src,
  outdir: dist,
  // Compiled code belongs to one text: V8 compares only the length.
  entryNames: '[dir]/[name]-[hash]',
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  // A script from compiled code cannot import: packages outside of the bundle are required.
  supported: { 'dynamic-import': false },
  legalComments: 'none',
  external: EXTERNAL,
  banner: {
    js: [
      "const DIST_URL = require('node:url').pathToFileURL(__filename.slice(0, __filename.lastIndexOf('/dist/') + 6)).href;",
      "const GDAL_FOLDER = require('node:path').dirname(require.resolve('gdal-async'));",
    ].join('\n'),
  },
  plugins: [ownPlace, gdal],
  metafile: true,
  logLevel: 'warning',
});

await copyFile(join(src, 'bundle-loader.cjs'), join(dist, 'bundle-loader.cjs'));
for (const [path, { entryPoint }] of Object.entries(metafile.outputs)) {
  await writeFile(path, escapeText(await readFile(path, 'utf8')));
  await writeEntry(relative('src', entryPoint).replace(/\.ts$/, ''), basename(path));
}

/** The loader reads one byte a character. esbuild leaves other characters in regular expressions, templates and comments. */
function escapeText(text) {
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
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
