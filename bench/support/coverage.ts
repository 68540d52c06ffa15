import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** Reports of V8, by script. */
interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly {
      readonly startOffset: number;
      readonly endOffset: number;
      readonly count: number;
    }[];
  }[];
}

/** The wrapper of src/bundle-loader.cjs before the text of a bundle. */
const WRAPPER = '(function (exports, require, module, __filename, __dirname) {'.length;
/** Longer than all threads take to notice the signal and to write. */
const SETTLE_MS = 1500;

/** Tells which files of src ran in the processes and threads of a server between two moments. */
export class CoverageProbe {
  readonly #folder = mkdtempSync(join(tmpdir(), 'graticule-ways-'));
  readonly #reports = join(this.#folder, 'reports');
  readonly #signal = join(this.#folder, 'signal');
  readonly #modules = new Map<string, readonly { start: number; path: string }[]>();
  #taken = 0;

  /** Variables of a server whose coverage is taken. */
  get env(): Record<string, string> {
    mkdirSync(this.#reports, { recursive: true });
    const preload = resolve('bench/support/take-coverage.cjs');
    return {
      NODE_V8_COVERAGE: this.#reports,
      WAYS_SIGNAL: this.#signal,
      NODE_OPTIONS: `--require ${preload}`,
    };
  }

  /** The files of src in which a function ran since the last call. */
  async take(): Promise<ReadonlySet<string>> {
    writeFileSync(this.#signal, String(++this.#taken));
    await pause(SETTLE_MS);
    const files = new Set<string>();
    for (const name of readdirSync(this.#reports)) {
      const path = join(this.#reports, name);
      const { result } = JSON.parse(readFileSync(path, 'utf8')) as { result: ScriptCoverage[] };
      for (const script of result) this.#collect(script, files);
      rmSync(path);
    }
    return files;
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #collect({ url, functions }: ScriptCoverage, files: Set<string>): void {
    const path = url.startsWith('file:') ? fileURLToPath(url) : url;
    const own = /\/dist\/(.*)\.js$/.exec(path)?.[1];
    const isBundle = /\/dist\/.*\.cjs$/.test(path) && !path.endsWith('bundle-loader.cjs');
    if (!isBundle && !own) return;
    const modules = isBundle ? this.#modulesOf(path) : [{ start: 0, path: `src/${own}.ts` }];
    for (const { ranges } of functions) {
      const [{ startOffset, endOffset, count }] = ranges as [(typeof ranges)[number]];
      // The function around a complete script or bundle does not count.
      if (count === 0 || (startOffset <= WRAPPER && endOffset - startOffset > 100_000)) continue;
      const at = modules.findLast(({ start }) => start <= startOffset - (isBundle ? WRAPPER : 0));
      if (at?.path.startsWith('src/')) files.add(at.path);
    }
  }

  /** esbuild writes the path of each module before its text. */
  #modulesOf(path: string) {
    let modules = this.#modules.get(path);
    if (!modules) {
      const text = readFileSync(path, 'latin1');
      modules = [...text.matchAll(/^\s*\/\/ ((?:src|node_modules)\/\S+|[\w-]+:\S+)$/gm)].map(
        ({ index, 1: found }) => ({
          start: index,
          path: found!,
        }),
      );
      this.#modules.set(path, modules);
    }
    return modules;
  }
}
