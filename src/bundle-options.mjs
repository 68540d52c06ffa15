import { readFile } from 'node:fs/promises';
import { dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

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

export const src = dirname(fileURLToPath(import.meta.url));

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

/** Options of esbuild for bundles that bundle-loader.cjs loads. `distUrl` is JavaScript: the URL of the folder of modules. */
export const bundleOptions = (distUrl) => ({
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
      `const DIST_URL = ${distUrl};`,
      "const GDAL_FOLDER = require('node:path').dirname(require.resolve('gdal-async'));",
    ].join('\n'),
  },
  plugins: [ownPlace, gdal],
  metafile: true,
  logLevel: 'warning',
});

/** The loader reads one byte a character. esbuild leaves other characters in regular expressions, templates and comments. */
export function escapeText(text) {
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
