import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * The bundle of `host.ts`: a process that runs servers for tests starts as fast as a server. It is made once for a build.
 */
const FOLDER = 'node_modules/.cache/test-host';

/** What the bundle depends on. The entries of the server name their bundles, which have their hashes in their names. */
const SOURCES = ['dist/cli/main.js', 'dist/gateway/start/main.js', 'test/support/host.ts'];

export function bundlePath() {
  // The bundle contains the path of `dist`: a copy of the folder needs another bundle.
  const key = createHash('sha256').update(resolve('dist'));
  for (const source of SOURCES) key.update(readFileSync(source));
  return resolve(FOLDER, `${key.digest('hex').slice(0, 16)}.cjs`);
}

/** Makes the bundle if it is not there. */
export async function makeHostBundle() {
  const path = bundlePath();
  if (existsSync(path)) return;
  const { build } = await import('esbuild');
  const { bundleOptions, escapeText } = await import('../../src/bundle-options.mjs');
  const { outputFiles } = await build({
    ...bundleOptions(JSON.stringify(pathToFileURL(`${resolve('dist')}/`).href)),
    entryPoints: ['test/support/host.ts'],
    write: false,
  });
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const part = `${path}.${process.pid}`;
  writeFileSync(part, escapeText(outputFiles[0].text));
  renameSync(part, path);
}
