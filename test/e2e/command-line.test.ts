import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/ports.js';
import { startServerProcess, type TestServer } from '../support/server.js';

/** What the command line says to who typed something wrong. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-command-line-'));
let server: TestServer;

beforeAll(async () => {
  for (const name of ['empty', 'data']) mkdirSync(join(folder, name));
  server = await startServerProcess({ sources: [join(folder, 'empty')], dataDir: join(folder, 'data') });
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function graticule(...args: string[]): Promise<{ code: number; said: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['dist/cli/main.js', ...args], { timeout: 20_000 }, (error, stdout, stderr) =>
      resolve({ code: (error?.code as number | undefined) ?? 0, said: stdout + stderr }),
    );
  });
}

it('a folder without data says so', () => {
  expect(server.log()).toContain('nothing is published yet');
  expect(server.log()).toMatch(/^ {2}sign in +http:\S+\/account\/sign-in$/m);
  expect(server.log()).toMatch(/nothing to publish in \S+graticule-command-line-\w+\/empty\n/);
});

describe('a second server on a data folder', () => {
  it('is refused with the process that has it, which goes on', async () => {
    const port = String(await freePort());
    const { code, said } = await graticule('serve', '--data-dir', server.dataDir, '--port', port);
    expect(said).toBe(
      `graticule: --data-dir: ${server.dataDir} is in use by the server with process id ${server.process.pid}. Stop it, or choose another folder.\n`,
    );
    expect(code).toBe(64);
    expect((await fetch(`${server.url}/healthz/ready`)).status).toBe(200);
  });

  it('takes over from one that was killed', async () => {
    const gone = new Promise((resolve) => server.process.once('exit', resolve));
    server.process.kill('SIGKILL');
    await gone;
    server = await startServerProcess({ sources: [join(folder, 'empty')], dataDir: server.dataDir });
    expect((await fetch(`${server.url}/healthz/ready`)).status).toBe(200);
  });
});

it.each([
  [
    ['serve', './no-such-folder'],
    64,
    /^graticule: \.\/no-such-folder: there is no file or folder \/\S+\.\n$/,
  ],
  [['serve', '--config', 'absent.yaml'], 78, /^graticule: --config: there is no file absent\.yaml\.\n$/],
  [
    ['serve', '--port', '99999'],
    78,
    /^graticule: --port: must be an integer from 0 to 65535; received 99999\.\n$/,
  ],
  [['serve', '--port', 'x'], 64, /^graticule: --port: must be an integer of at least 0, not 'x'\.\n$/],
  [
    ['serve', '--data-dir', '/dev/null/data'],
    64,
    /^graticule: --data-dir: \/dev\/null\/data cannot be written \(ENOTDIR.*Make it writable for this user, or choose another folder\.\n$/,
  ],
  [
    ['validate', 'absent.yaml'],
    64,
    /^graticule: absent\.yaml: there is no such file\. Pass the path of a configuration file \(YAML\)\.\n$/,
  ],
  [['import', 'absent.shp'], 64, /^graticule: absent\.shp: the file does not exist\.\n$/],
  [['serve', '--prot', '80'], 1, /unknown option '--prot'\n\(Did you mean --port\?\)\n\(graticule --help/],
  [['sevre'], 1, /unknown command 'sevre'\n\(Did you mean serve\?\)/],
])('%j ends with %i and one sentence', async (args, code, said) => {
  const answer = await graticule(...args);
  expect(answer.said).toMatch(said);
  expect(answer.said).not.toMatch(/The configuration is wrong|\n\s+at /);
  expect(answer.said.trim().split('\n').length).toBeLessThan(5);
  expect(answer.code).toBe(code);
});
