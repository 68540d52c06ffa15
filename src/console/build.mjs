import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { writeLicences } from '../licences.mjs';

/**
 * Writes everything that pages load from this server to dist/public (or the directory given). Entry files keep
 * plain names, as pages name them; what they import carries a content hash and may be cached for ever. All are
 * gzipped.
 */
const here = dirname(fileURLToPath(import.meta.url));
const browser = join(here, 'browser');
const out = process.argv[2] ?? join(here, '../../dist/public');
const require = createRequire(import.meta.url);
const mapLibre = dirname(require.resolve('maplibre-gl/dist/maplibre-gl.css'));
const swagger = dirname(require.resolve('swagger-ui-dist/package.json'));

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
const workerFile = await copyWorker();
const [bundled] = await Promise.all([
  bundle(workerFile),
  copy(join(browser, 'mark.svg'), 'mark.svg'),
  minifyCss(join(browser, 'site.css'), 'site.css'),
  minifyCss(join(browser, 'viewer.css'), 'viewer.css'),
  copy(join(mapLibre, 'maplibre-gl.css'), 'maplibre-gl.css'),
  copy(join(swagger, 'swagger-ui.css'), 'swagger-ui.css'),
  copy(join(swagger, 'swagger-ui-bundle.js'), 'swagger-ui-bundle.js'),
]);
await writeLicences(
  join(out, '../licences/pages.txt'),
  'Packages that are part of the pages in dist/public, and their licences.',
  [...bundled, join(mapLibre, 'maplibre-gl.css'), join(swagger, 'swagger-ui-bundle.js')],
);
await compress();

/** Answers the files that became a part of the bundles. */
async function bundle(worker) {
  const { metafile } = await build({
    entryPoints: {
      map: join(browser, 'map.ts'),
      docs: join(browser, 'docs.ts'),
      live: join(browser, 'live.ts'),
      viewer: join(browser, 'viewer.ts'),
      client: join(here, '../client/index.ts'),
    },
    outdir: out,
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    legalComments: 'inline',
    entryNames: '[name]',
    chunkNames: '[name]-[hash]',
    define: { WORKER_FILE: JSON.stringify(worker) },
    metafile: true,
    logLevel: 'warning',
  });
  return Object.keys(metafile.inputs);
}

async function minifyCss(from, name) {
  await build({ entryPoints: [from], outfile: join(out, name), minify: true, logLevel: 'warning' });
}

/** The map library's worker is a complete module of its own: it is served as it is, under a hashed name. */
async function copyWorker() {
  const text = withoutSourceMap(await readFile(join(mapLibre, 'maplibre-gl-worker.mjs'), 'utf8'));
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 8).toUpperCase();
  const name = `map-worker-${hash}.js`;
  await writeFile(join(out, name), text);
  return name;
}

async function copy(from, name) {
  await writeFile(join(out, name), withoutSourceMap(await readFile(from, 'utf8')));
}

/** Source maps are not served, so no browser should look for them. */
function withoutSourceMap(text) {
  return text.replace(/^(\/\/# sourceMappingURL=\S+|\/\*# sourceMappingURL=\S+ \*\/)\s*$/gm, '');
}

/** Every file is kept compressed alone, as it is sent. */
async function compress() {
  for (const name of await readdir(out)) {
    const path = join(out, name);
    await writeFile(`${path}.gz`, gzipSync(await readFile(path), { level: 9 }));
    await rm(path);
  }
}
