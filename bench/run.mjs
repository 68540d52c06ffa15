/** `./run bench NAME [--rounds N] [--seconds S]`: bundles bench/NAME.bench.ts and runs it. */
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const [name] = process.argv.slice(2);
const source = `bench/${name}.bench.ts`;
if (!name || !existsSync(source)) {
  const names = readdirSync('bench')
    .filter((file) => file.endsWith('.bench.ts'))
    .map((file) => file.slice(0, -9));
  console.error(`Benchmarks: ${names.join(', ')}`);
  process.exit(name ? 1 : 0);
}
mkdirSync('dist/bench', { recursive: true });
const outfile = resolve(`dist/bench/${name}.mjs`);
await build({
  entryPoints: [source],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  logLevel: 'error',
});
await import(pathToFileURL(outfile).href);
