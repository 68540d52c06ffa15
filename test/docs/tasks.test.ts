import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pythonOfClients } from '../support/python.js';
import { startServer, type TestServer } from '../support/server.js';

/**
 * The commands of docs/tasks, run as they stand: `sh` blocks in their order, `sh background` blocks beside them, and of the
 * `text` block behind a block every line must be in what it wrote. `./run demo` and `./run serve` start the server.
 */

const ROOT = resolve('.');
const TASKS = 'docs/tasks';

interface Block {
  kind: 'sh' | 'background';
  commands: string;
  /** Lines that must be in the output. */
  output: string[];
}

function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  for (const [, info, text] of page.matchAll(/^```([^\n]*)\n(.*?)^```$/gms)) {
    if (info === 'sh' || info === 'sh background')
      blocks.push({ kind: info === 'sh' ? 'sh' : 'background', commands: text!, output: [] });
    else if (info === 'text') blocks.at(-1)!.output = text!.trim().split('\n');
  }
  return blocks;
}

/** One reading of a page by somebody who does what it says. */
class Reader {
  readonly folder = mkdtempSync(join(tmpdir(), 'graticule-task-'));
  readonly #beside: ChildProcess[] = [];
  #server: TestServer | undefined;

  async follow({ kind, commands, output }: Block): Promise<void> {
    const [, verb, sources = ''] = /^\.\/run (demo|serve)(?: -- (.*))?\n$/.exec(commands) ?? [];
    if (verb) {
      const folders = sources.split(' ').map((source) => join(this.folder, source));
      this.#server = await startServer({ sources: verb === 'demo' ? ['demo/data'] : folders });
    } else if (kind === 'background') {
      this.#beside.push(this.#shell(commands));
      await new Promise((settle) => setTimeout(settle, 1000));
    } else {
      const written = execFileSync('bash', ['-ec', this.#asHere(commands)], this.#options);
      for (const line of output) expect(written).toContain(line);
    }
  }

  async end(): Promise<void> {
    for (const child of this.#beside) child.kill();
    await this.#server?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #shell(commands: string): ChildProcess {
    return spawn('bash', ['-ec', `exec ${this.#asHere(commands).trim()}`], {
      ...this.#options,
      stdio: 'ignore',
    });
  }

  #asHere(commands: string): string {
    return commands
      .replaceAll('http://localhost:8080', this.#server?.url ?? 'no server is started yet')
      .replaceAll('./run ', `${process.execPath} ${ROOT}/dist/cli/main.js `);
  }

  get #options() {
    const PATH = `${dirname(pythonOfClients())}:${process.env.PATH}`;
    const env = { ...process.env, PATH, KEY: this.#server?.adminKey };
    return { cwd: this.folder, encoding: 'utf8', env } as const;
  }
}

describe.each(readdirSync(TASKS))('%s', (name) => {
  const page = readFileSync(join(TASKS, name), 'utf8');

  it('says what works', async () => {
    const blocks = blocksOf(page);
    expect(blocks.filter(({ output }) => output.length > 0)).not.toEqual([]);
    const reader = new Reader();
    try {
      for (const block of blocks) await reader.follow(block);
    } finally {
      await reader.end();
    }
  });

  it('leads to pages that are there', () => {
    for (const [, target] of page.matchAll(/\]\(([^)#]+\.md)[^)]*\)/g))
      expect(() => readFileSync(join(TASKS, target!))).not.toThrow();
  });
});
