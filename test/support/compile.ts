import { hash } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Compiles one TypeScript file and what it imports of ours, so that a thread or a child process can run it.
 * The output lies inside the repository, where Node finds the packages, and is named by its content: test
 * processes that run at the same time share it.
 */
export function compile(source: string): URL {
  const { outputFiles } = buildSync({
    entryPoints: [join(ROOT, source)],
    write: false,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'error',
  });
  const { contents, text } = outputFiles[0]!;
  const directory = join(ROOT, 'build', 'test');
  mkdirSync(directory, { recursive: true });
  const path = join(directory, `${basename(source, '.ts')}-${hash('sha256', text, 'hex').slice(0, 12)}.mjs`);
  writeFileSync(`${path}.${process.pid}`, contents);
  renameSync(`${path}.${process.pid}`, path);
  return pathToFileURL(path);
}
