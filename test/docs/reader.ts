import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Browser } from 'playwright-core';
import { expect } from 'vitest';
import { launchBrowser } from '../support/browser.js';
import { startNginx, type TestNginx } from '../support/nginx.js';
import { freePort } from '../support/ports.js';
import { OWNER, startPostgres, type TestPostgres } from '../support/postgres.js';
import { pythonOfClients } from '../support/python.js';
import { middleColours, openSavedPage } from '../support/saved-page.js';
import { startServer, type TestServer } from '../support/server.js';
import { type SharedServer, sharedServer } from '../support/shared-server.js';

const ROOT = resolve('.');

/** A fenced block of a page. */
export interface Block {
  language: string;
  /** The word after the language: `background`, `stop`, or the name of the file that the block is saved as. */
  rest: string;
  text: string;
  /** Lines that must be in what it writes. */
  output: string[];
}

/** The blocks of a page that are run; a `text` block is the output of the block before it. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  for (const [, indent, info, body] of page.matchAll(/^( *)```([^\n]*)\n(.*?)^ *```$/gms)) {
    const text = body!.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    const [language = '', ...rest] = info!.split(' ');
    if (language === 'text') blocks.at(-1)!.output = text.trim().split('\n');
    else if (language !== '') blocks.push({ language, rest: rest.join(' '), text, output: [] });
  }
  return blocks;
}

/** Languages of blocks that are examples unless they name a file. */
const EXAMPLES = new Set(['console', 'xml', 'yaml', 'json', 'js', 'html', 'nginx']);

/** Runs Python in the libraries of QGIS, as its console does. */
const QGIS_CONSOLE = `
import os, sys
from qgis.core import *
QgsApplication.setPrefixPath('/usr', True)
app = QgsApplication([], False)
app.initQgis()
exec(sys.stdin.read())
sys.stdout.flush()
os._exit(0)`;

/** One reading of a page by somebody who does what it says. */
export class Reader {
  readonly folder = mkdtempSync(join(tmpdir(), 'graticule-task-'));
  readonly #beside: ChildProcess[] = [];
  #server: SharedServer | undefined;
  /** Pages that serve data of their own; those of the demo read it. */
  #own: TestServer | undefined;
  #postgres: TestPostgres | undefined;
  /** Over TCP: the server connects to a host that a page names only so. */
  #databaseUrl: string | undefined;
  #databasePort = 0;
  #nginx: TestNginx | undefined;
  #browser: Browser | undefined;

  async follow(block: Block): Promise<void> {
    const { language, rest, text } = block;
    if (rest === '' && EXAMPLES.has(language)) return;
    if (language === 'html') return this.#open(block);
    if (language === 'nginx') this.#nginx = await startNginx(text, this.#server!.url);
    else if (rest !== '' && rest !== 'background' && rest !== 'stop') this.#save(rest, text);
    else if (language === 'python') this.#expectOutput(block, this.#inQgis(text));
    else if (language === 'sh') await this.#run(block);
    else throw new Error(`the test does not know what to do with ${language}`);
  }

  async end(): Promise<void> {
    for (const child of this.#beside) child.kill();
    await this.#browser?.close();
    await this.#nginx?.stop();
    await this.#stopOwn();
    await this.#postgres?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #run(block: Block): Promise<void> {
    const commands = block.text;
    if (commands.includes('$DATABASE_URL')) await this.#startPostgres();
    const [, verb, words = ''] = /^\.\/run (demo|serve)(?: -- (.*))?\n$/.exec(commands) ?? [];
    if (verb) {
      await this.#stopOwn();
      this.#own = verb === 'serve' ? await this.#serve(words) : undefined;
      this.#server = this.#own ?? (await sharedServer());
    } else if (block.rest === 'background') {
      this.#beside.push(this.#shell(commands));
      await new Promise((settle) => setTimeout(settle, 1000));
    } else {
      if (block.rest === 'stop') await this.#stopOwn();
      this.#expectOutput(block, execFileSync('bash', ['-ec', this.#asHere(commands)], this.#options));
    }
  }

  async #stopOwn(): Promise<void> {
    await this.#own?.stop();
    this.#own = undefined;
  }

  /** Saves a block, with the files and the database of the reader in place of those that it names. */
  #save(name: string, text: string): void {
    const saved = text
      .replaceAll(/(?<=(?:cert|key): )[\w-]+\.pem/g, (file) => join(this.folder, file))
      .replace(
        '"db.example.org", "port": 5432, "databaseName": "city", "username": "reader"',
        `"127.0.0.1", "port": ${this.#databasePort}, "databaseName": "postgres", "username": "${OWNER}"`,
      );
    writeFileSync(join(this.folder, name), saved);
  }

  /** Starts a server with the arguments of `./run serve`. */
  async #serve(line: string): Promise<TestServer> {
    const words = this.#words(line);
    const option = (name: string) => {
      const at = words.indexOf(name);
      return at < 0 ? undefined : words.splice(at, 2)[1];
    };
    const config = option('--config');
    const dataDir = resolve(this.folder, option('--data-dir') ?? 'graticule-data');
    mkdirSync(dataDir, { recursive: true });
    const isSecure = config !== undefined && readFileSync(config, 'utf8').includes('tls:');
    return startServer({
      sources: words,
      args: config === undefined ? [] : ['--config', config],
      dataDir,
      ...(isSecure ? { ca: readFileSync(join(this.folder, 'cert.pem'), 'utf8') } : {}),
    });
  }

  async #startPostgres(): Promise<void> {
    if (this.#postgres) return;
    const port = await freePort();
    this.#databasePort = port;
    this.#postgres = await startPostgres(['listen_addresses=127.0.0.1', `port=${port}`]);
    this.#databaseUrl = `postgresql://${OWNER}@127.0.0.1:${port}/postgres`;
  }

  #expectOutput({ output }: Block, written: string): void {
    for (const line of output) expect(written).toContain(this.#asHere(line.trim()));
  }

  /** A page draws its tiles without complaint; `click: NAME` is what a click into the middle tells. */
  async #open({ rest, text, output }: Block): Promise<void> {
    this.#browser ??= await launchBrowser();
    const file = join(this.folder, rest);
    writeFileSync(file, this.#asHere(text));
    const { page, tiles, problems } = await openSavedPage(this.#browser, file);
    await expect.poll(() => tiles.length, { timeout: 30_000 }).toBeGreaterThan(0);
    await expect.poll(async () => (await middleColours(page)).size, { timeout: 30_000 }).toBeGreaterThan(3);
    for (const line of output) {
      const [, name] = /^click: (.*)$/.exec(line) ?? [];
      if (name) {
        await expect
          .poll(async () => {
            await page.mouse.click(400, 300);
            return page.locator('body').innerText();
          })
          .toContain(name);
      } else await page.getByText(line).waitFor();
    }
    expect(problems).toEqual([]);
    await page.context().close();
  }

  #inQgis(code: string): string {
    const env = { ...process.env, HOME: this.folder, QT_QPA_PLATFORM: 'offscreen' };
    const input = this.#asHere(code);
    return execFileSync('/usr/bin/python3', ['-c', QGIS_CONSOLE], { ...this.#options, env, input });
  }

  #words(line: string): string[] {
    return line.split(' ').map((word) => {
      if (word === '"$DATABASE_URL"') return this.#databaseUrl!;
      const file = join(this.folder, word);
      return existsSync(file) ? file : word;
    });
  }

  #shell(commands: string): ChildProcess {
    return spawn('bash', ['-ec', `exec ${this.#asHere(commands).trim()}`], {
      ...this.#options,
      stdio: 'ignore',
    });
  }

  #asHere(text: string): string {
    return text
      .replaceAll(/https?:\/\/localhost:8080/g, this.#server?.url ?? 'no server is started yet')
      .replaceAll('http://localhost/', `${this.#nginx?.url}/`)
      .replaceAll('./run ', `${process.execPath} ${ROOT}/dist/cli/main.js `);
  }

  get #options() {
    const PATH = `${dirname(pythonOfClients())}:${process.env.PATH}`;
    const env = { ...process.env, PATH, KEY: this.#server?.adminKey, DATABASE_URL: this.#databaseUrl };
    return { cwd: this.folder, encoding: 'utf8', env } as const;
  }
}
