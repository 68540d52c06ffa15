import { createHash } from 'node:crypto';
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { writeLicences } from '../licences.mjs';
import { compressFiles } from './compress.mjs';
import { pagePath } from './manual/markdown.mjs';
import { inOrder, renderPage } from './manual/shell.mjs';
import { buildIndex, readManual } from './manual/site.mjs';

/**
 * Writes the manual, a static site of the Markdown files in docs/, to the folder given: `node src/console/manual.mjs FOLDER`.
 * Every file is there as it is and compressed in each coding that is sent.
 *
 * It uses markdown-it and MiniSearch, which need six more packages, instead of VitePress 1.6. VitePress compiles the path of
 * the site into its pages (its issues 3057 and 3576): one build cannot be served below any prefix and on any host. It also
 * brings Vue, a second Vite, Shiki and DocSearch, and writes inline scripts, which the policy of pages refuses.
 */
const here = dirname(fileURLToPath(import.meta.url));
const browser = join(here, 'browser');
const docs = join(here, '../../docs');
const out = process.argv[2] ?? join(here, '../../dist/manual');

await rm(out, { recursive: true, force: true });
await mkdir(join(out, 'assets'), { recursive: true });
const { pages, tree, images, problems } = await readManual(docs);
for (const problem of problems) process.stderr.write(`run: docs/${problem}\n`);
const order = inOrder(tree);
await Promise.all(
  [...pages.values()].map((page) => put(pagePath(page.source), renderPage(page, { tree, order }))),
);
for (const image of images) {
  await mkdir(dirname(join(out, image)), { recursive: true });
  await copyFile(join(docs, image), join(out, image));
}
const bundled = await bundle(await putIndex());
await copyFile(join(browser, 'mark.svg'), join(out, 'assets/mark.svg'));
await writeLicences(
  join(out, 'licences.txt'),
  'Packages that are part of the manual, and their licences.',
  bundled,
);
await compressFiles(out, { keep: true });

async function put(path, text) {
  await mkdir(dirname(join(out, path)), { recursive: true });
  await writeFile(join(out, path), text);
}

/** Its name changes with its content: browsers keep it for ever. */
async function putIndex() {
  const index = buildIndex(pages);
  const hash = createHash('sha256').update(index).digest('hex').slice(0, 8).toUpperCase();
  const name = `search-${hash}.json`;
  await put(`assets/${name}`, index);
  return name;
}

/** Returns the files that became a part of the script. */
async function bundle(index) {
  const { metafile } = await build({
    entryPoints: [join(browser, 'manual.ts'), join(browser, 'manual.css'), join(browser, 'site.css')],
    outdir: join(out, 'assets'),
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    define: { SEARCH_INDEX: JSON.stringify(index) },
    metafile: true,
    logLevel: 'warning',
  });
  return Object.keys(metafile.inputs);
}
