import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startNginx, type TestNginx } from '../support/nginx.js';
import { freePort } from '../support/ports.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startRedis, type TestRedis } from '../support/redis.js';
import { startS3, type TestS3 } from '../support/s3.js';
import { startServerProcess, type TestServer } from '../support/server.js';
import { makeDatabase } from '../support/state.js';
import { type Block, blocksOf } from './reader.js';

/** docs/how-to/operate/scaling.md, done as it says: from one server to three, with a database, a cache and a bucket of the test's own. */

const CLI = resolve('dist/cli/main.js');
const folder = mkdtempSync(join(tmpdir(), 'graticule-scaling-'));
const ports = new Map<string, number>();
let postgres: TestPostgres;
let redis: TestRedis;
let s3: TestS3;
let nginx: TestNginx | undefined;
/** By the ports of the page. */
const servers = new Map<string, TestServer>();
let state: string;

beforeAll(async () => {
  [postgres, redis, s3] = await Promise.all([startPostgres(), startRedis(), startS3()]);
  state = await makeDatabase(postgres.url);
  for (const port of ['8081', '8082', '8083', '8084']) ports.set(port, await freePort());
});
afterAll(async () => {
  await nginx?.stop();
  for (const server of servers.values()) await server.stop();
  await Promise.all([postgres?.stop(), redis?.stop(), s3?.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

/** What the page calls by its name there, by the name it has here. */
function asHere(text: string): string {
  const here = text
    .replaceAll('postgresql://graticule:secret@db.example.org/graticule', state)
    .replaceAll('redis://cache.example.org:6379', redis.url)
    .replaceAll('s3://maps/graticule', `s3://${s3.bucket}/graticule`)
    .replaceAll('http://localhost/', `${nginx?.url}/`)
    .replaceAll('./run ', `${process.execPath} ${CLI} `);
  return [...ports].reduce((all, [port, own]) => all.replaceAll(port, `${own}`), here);
}

const options = () => ({
  cwd: folder,
  encoding: 'utf8' as const,
  env: { ...process.env, ...s3.env, KEY: [...servers.values()][0]?.adminKey },
});

const shell = (text: string) => execFileSync('bash', ['-ec', asHere(text)], options());

/** Starts what a line says. */
async function start(line: string): Promise<void> {
  const [, command, port, dataDir] =
    /^\.\/run (serve|worker) .*--port (\d+) --data-dir (\w+)$/.exec(line) ?? [];
  const path = join(folder, dataDir!);
  mkdirSync(path, { recursive: true });
  const server = await startServerProcess({
    command: command as 'serve',
    sources: [join(folder, 'my-data')],
    port: ports.get(port!)!,
    dataDir: path,
    args: line.includes('--config') ? ['--config', join(folder, 'graticule.yaml')] : [],
    env: s3.env,
  });
  servers.set(port!, server);
}

const linesOf = (text: string) => text.trim().split('\n');

async function follow({ language, rest, text }: Block): Promise<string> {
  if (language === 'nginx') {
    nginx = await startNginx(asHere(text), 'http://127.0.0.1:1');
    return '';
  }
  if (language === 'yaml') {
    writeFileSync(join(folder, rest), asHere(text));
    return '';
  }
  if (rest === 'server' || rest === 'servers' || rest === 'worker') {
    for (const line of linesOf(text)) await start(line);
    return '';
  }
  if (rest === 'stopped') {
    await servers.get('8081')!.stop();
    servers.clear();
    return shell(text);
  }
  if (rest === 'killing') {
    setTimeout(() => servers.get('8081')!.process.kill('SIGKILL'), 2000);
    // Not the synchronous shell: the server must be killed meanwhile.
    const { stdout } = await promisify(execFile)('bash', ['-ec', asHere(text)], options());
    servers.delete('8081');
    return stdout;
  }
  return shell(text);
}

it('is made of commands that ./run has', () => {
  const commands = readFileSync('docs/how-to/operate/scaling.md', 'utf8').matchAll(/^\.\/run (\w+)/gm);
  const names = [...readFileSync('run', 'utf8').matchAll(/^ {2}([\w| -]+)\) /gm)].flatMap(([, all]) =>
    all!.split(' | '),
  );
  for (const [, command] of commands) expect(names).toContain(command);
});

it('from one server to three, as the page says', async () => {
  const blocks = blocksOf(readFileSync('docs/how-to/operate/scaling.md', 'utf8'));
  expect(blocks.filter(({ output }) => output.length > 0).length).toBeGreaterThan(5);
  for (const block of blocks) {
    const written = await follow(block);
    for (const line of block.output)
      expect(written.replaceAll(/ +/g, ' '), block.text).toContain(line.trim());
  }
});
