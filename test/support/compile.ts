import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Compiles one TypeScript file and what it imports of ours, so that a thread or a child process can run it.
 * The output lies inside the repository, where Node finds the packages.
 */
export function compile(source: string): URL {
  const directory = join(ROOT, 'build', 'test', String(process.pid));
  mkdirSync(directory, { recursive: true });
  const outfile = join(directory, source.replace(/[\\/]/g, '-').replace(/\.ts$/, '.mjs'));
  buildSync({
    entryPoints: [join(ROOT, source)],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'error',
  });
  return pathToFileURL(outfile);
}
