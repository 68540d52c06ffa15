import { readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { writeLicences } from './licences.mjs';

/**
 * Writes what processes and threads begin with over the modules that the compiler wrote, with all that they import in
 * a few files: looking for, reading and linking a thousand modules took half of the server's start.
 */
const ENTRIES = [
  'cli/main',
  'gateway/main',
  'workers/archive/worker',
  'workers/engine/main',
  'workers/engine/translate-starter',
  'workers/geocoding/worker',
  'workers/map/worker',
  'workers/process/host',
  'workers/process/worker',
  'workers/raster/sources/remote/thread',
  'workers/raster/translate-main',
  'workers/raster/worker',
  'workers/state/worker',
  'workers/storage/worker',
  'workers/symbols/worker',
  'workers/tile-store/worker',
  'workers/vector/worker',
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
      const root = `import.meta.url.slice(0, import.meta.url.lastIndexOf('/dist/') + 6)`;
      return { contents: text.replaceAll('import.meta.url', `(${root} + ${place})`), loader: 'ts' };
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

const { metafile } = await build({
  entryPoints: ENTRIES.map((entry) => join(src, `${entry}.ts`)),
  outbase: src,
  outdir: join(src, '../dist'),
  chunkNames: 'shared/[name]-[hash]',
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  sourcemap: true,
  external: EXTERNAL,
  // Packages written in CommonJS ask for Node's own modules by require.
  banner: {
    js: `import { createRequire as requireOf } from 'node:module';\nconst require = requireOf(import.meta.url);`,
  },
  plugins: [ownPlace, gdal],
  inject: [join(src, 'gdal-folder.mjs')],
  metafile: true,
  logLevel: 'warning',
});

await writeLicences(
  join(src, '../dist/licences/server.txt'),
  'Packages that are part of the server in dist/, and their licences.',
  Object.keys(metafile.inputs),
);
