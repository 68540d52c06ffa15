import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { writeLicences } from '../licences.mjs';
import { BASEMAP_INPUTS, writeBasemap, writePlaces, writeWorldPicture } from './basemap.mjs';
import { compressFiles } from './compress.mjs';

/**
 * Writes everything that pages load from this server to dist/public (or the directory given). Entry files keep
 * plain names, as pages name them; what they import carries a content hash and may be cached for ever. All are
 * compressed, in each coding that is sent.
 */
const here = dirname(fileURLToPath(import.meta.url));
const browser = join(here, 'browser');
const out = process.argv[2] ?? join(here, '../../dist/public');
const require = createRequire(import.meta.url);
const mapLibre = dirname(require.resolve('maplibre-gl/dist/maplibre-gl.css'));

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
const workerFile = await bundleWorker();
const [bundled] = await Promise.all([
  bundle(workerFile),
  copy(join(browser, 'mark.svg'), 'mark.svg'),
  minifyCss(join(browser, 'site.css'), 'site.css'),
  minifyCss(join(browser, 'viewer.css'), 'viewer.css'),
  minifyCss(join(browser, 'apis/apis.css'), 'apis.css'),
  minifyCss(join(browser, 'alerts/alerts.css'), 'alerts.css'),
  copy(join(mapLibre, 'maplibre-gl.css'), 'maplibre-gl.css'),
]);
const basemap = await buildBasemap();
await writeLicences(
  join(out, '../licences/pages.txt'),
  'Packages that are part of the pages in dist/public, and their licences.',
  [...bundled, ...basemap, join(mapLibre, 'maplibre-gl.css')],
);
await compressFiles(out, { keep: false });

/** The base map beside `out`. Making it takes a while: a copy is kept until what it is made of changes. */
async function buildBasemap() {
  const script = join(here, 'basemap.mjs');
  const demoData = join(here, '../../demo/data');
  const inputs = [script, join(demoData, 'world_map.gpkg'), ...BASEMAP_INPUTS];
  const hash = createHash('sha256');
  for (const input of inputs) hash.update(await readFile(input));
  const cache = join(here, '../../node_modules/.cache/basemap');
  const kept = join(cache, hash.digest('hex').slice(0, 16));
  if (!existsSync(kept)) {
    await rm(cache, { recursive: true, force: true });
    await mkdir(cache, { recursive: true });
    await writeBasemap(`${kept}.part`, demoData);
    await writePlaces(`${kept}.places`, demoData);
    await rename(`${kept}.part`, kept);
  }
  await copyFile(kept, join(out, '../basemap.mbtiles'));
  await copyFile(`${kept}.places`, join(out, '../places.json'));
  await writeWorldPicture(join(out, 'world.svg'));
  return BASEMAP_INPUTS;
}

/** Answers the files that became a part of the bundles. */
async function bundle(worker) {
  const { metafile } = await build({
    entryPoints: {
      map: join(browser, 'map.ts'),
      docs: join(browser, 'apis/docs.ts'),
      live: join(browser, 'live.ts'),
      viewer: join(browser, 'viewer.ts'),
      take: join(browser, 'take.ts'),
      position: join(browser, 'position.ts'),
      colors: join(browser, 'raster/colors.ts'),
      filter: join(browser, 'filter.ts'),
      account: join(browser, 'account.ts'),
      sources: join(browser, 'catalog/sources.ts'),
      'source-crs': join(browser, 'catalog/source-crs.ts'),
      cards: join(browser, 'catalog/cards.ts'),
      process: join(browser, 'process.ts'),
      job: join(browser, 'admin/job.ts'),
      proposal: join(browser, 'admin/proposal.ts'),
      finding: join(browser, 'admin/finding.ts'),
      stac: join(browser, 'apis/stac.ts'),
      alerts: join(browser, 'alerts/alerts.ts'),
      'alert-rule': join(browser, 'alerts/alert-rule.ts'),
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

/** The worker of the map library, with our protocol, under a hashed name. */
async function bundleWorker() {
  const { outputFiles } = await build({
    stdin: {
      contents: "import 'map-library-worker'; import './points/tile-counter.js';",
      resolveDir: browser,
    },
    alias: { 'map-library-worker': join(mapLibre, 'maplibre-gl-worker.mjs') },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    legalComments: 'inline',
    // The package does not say that its worker has side effects.
    ignoreAnnotations: true,
    write: false,
    logLevel: 'warning',
  });
  const [{ contents }] = outputFiles;
  const hash = createHash('sha256').update(contents).digest('hex').slice(0, 8).toUpperCase();
  const name = `map-worker-${hash}.js`;
  await writeFile(join(out, name), contents);
  return name;
}

async function copy(from, name) {
  await writeFile(join(out, name), withoutSourceMap(await readFile(from, 'utf8')));
}

/** Source maps are not served, so no browser should look for them. */
function withoutSourceMap(text) {
  return text.replace(/^(\/\/# sourceMappingURL=\S+|\/\*# sourceMappingURL=\S+ \*\/)\s*$/gm, '');
}
