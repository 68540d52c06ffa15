import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/ports.js';
import { copyDemoData, type DataCopy } from './support/data.js';
import { healthCommand, lastOf } from './support/dockerfile.js';
import { Build, containerCommand, type Image } from './support/image.js';
import { TOOLS } from './support/settings.js';

/** The image, built by the instructions of the Dockerfile and started as a container would be (support/image.ts). */

const BUILD_MS = 40 * 60_000;
const START_MS = 120_000;

describe.skipIf(!TOOLS)('the image', () => {
  const build = new Build();
  /** Not in the folder of the build: what is mounted in a container has an owner of its own. */
  const volume = mkdtempSync(join(tmpdir(), 'graticule-volume-'));
  let data: DataCopy;
  let image: Image;
  let port: number;
  let container: ChildProcess;
  let log = '';

  beforeAll(async () => {
    image = build.run();
    data = copyDemoData();
    // The user of the image reads it.
    execFileSync('chmod', ['-R', 'a+rX', data.folder]);
    // As an engine does with a new volume: it gets what the image has there, with its owner.
    const [uid, gid] = image.user.split(':').map(Number);
    chownSync(volume, uid!, gid!);
    port = await freePort();
    container = await start();
  }, BUILD_MS);
  afterAll(async () => {
    if (container && container.exitCode === null) await stop();
    build.remove();
    data?.remove();
    rmSync(volume, { recursive: true, force: true });
  });

  /** `docker run -v demo/data:/data`. The network is that of this machine, so the port is another one. */
  async function start(): Promise<ChildProcess> {
    const { list: entry } = lastOf(image.last, 'ENTRYPOINT');
    const { list: command } = lastOf(image.last, 'CMD');
    const args = containerCommand(image, [...entry, ...command], {
      [image.volumes[0]!]: { from: volume },
      '/data': { from: data.folder, readOnly: true },
    });
    const env = {
      ...image.env,
      PORT: String(port),
      SVC_SERVER__HOST: '127.0.0.1',
      SVC_ADMIN_KEY: 'key-of-a-container-of-ours',
    };
    const child = spawn('unshare', args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) stream!.on('data', (text) => (log += String(text)));
    const until = Date.now() + START_MS;
    while (!(await isReady())) {
      if (child.exitCode !== null || Date.now() > until)
        throw new Error(`the container is not ready: ${log}`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    return child;
  }

  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/healthz/ready`).then(
      ({ ok }) => ok,
      () => false,
    );

  /** The first process of the container, by its number here. */
  const first = () => Number(readFileSync(`/proc/${container.pid}/task/${container.pid}/children`, 'utf8'));

  async function stop(): Promise<number | null> {
    const ended = once(container, 'exit');
    process.kill(first(), lastOf(image.last, 'STOPSIGNAL').text as NodeJS.Signals);
    const [code] = (await ended) as [number | null];
    return code;
  }

  const ask = async (path: string, init?: RequestInit) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
    return { status: response.status, bytes: (await response.arrayBuffer()).byteLength };
  };

  it.each([
    '/ogc/tiles/collections/3/tiles/WebMercatorQuad/0/0/0',
    '/ogc/maps/collections/3/map?bbox=5,45,15,55&width=300',
    '/ogc/coverages/collections/l7_etms/coverage?f=geotiff',
    '/',
    '/manual/',
  ])('serves %s of /data', async (path) => {
    expect(await ask(path)).toMatchObject({
      status: 200,
      bytes: expect.toSatisfy((bytes: number) => bytes > 200),
    });
  });

  it('runs as its user, without capabilities', () => {
    const status = readFileSync(`/proc/${first()}/status`, 'utf8');
    expect(/^Uid:\s+(\d+)/m.exec(status)![1]).toBe(image.user.split(':')[0]);
    expect(/^CapBnd:\s+(\w+)/m.exec(status)![1]).toBe('0000000000000000');
    expect(/^NoNewPrivs:\s+(\d)/m.exec(status)![1]).toBe('1');
  });

  it('is healthy by its own check', () => {
    const [command, ...args] = healthCommand(image.last);
    const env = { ...image.env, PORT: String(port) };
    execFileSync('chroot', [image.root, command!, ...args], { env });
    expect(() =>
      execFileSync('chroot', [image.root, command!, ...args], { env: { ...env, PORT: '1' } }),
    ).toThrow();
  });

  it('has no compiler, no packages for development, and no builds for other systems', () => {
    const modules = join(image.root, 'opt/graticule/node_modules');
    const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      devDependencies: object;
    };
    // What others need at run time may be named here as well.
    for (const name of ['typescript', 'vitest', 'esbuild', 'playwright-core', '@biomejs/biome']) {
      expect(Object.keys(devDependencies)).toContain(name);
      expect(existsSync(join(modules, name))).toBe(false);
    }
    expect(existsSync(join(image.root, 'usr/bin/g++'))).toBe(false);
    const builds = readdirSync(modules, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.node'),
    );
    expect(builds.length).toBeGreaterThan(3);
    expect(builds.filter((name) => /darwin|win32|musl/.test(name))).toEqual([]);
  });

  it('stops by its signal, with what it remembers, and starts again', async () => {
    const headers = { 'x-api-key': 'key-of-a-container-of-ours', 'content-type': 'application/json' };
    const body = JSON.stringify({ name: 'kept', permissions: ['admin:read'] });
    expect((await ask('/api/v1/admin/api-keys', { method: 'POST', headers, body })).status).toBe(201);
    expect(await stop()).toBe(0);
    container = await start();
    const keys = await fetch(`http://127.0.0.1:${port}/api/v1/admin/api-keys`, { headers });
    expect(await keys.text()).toContain('"kept"');
  });

  it('complains of nothing', () => {
    expect(log).not.toMatch(/EROFS|EACCES|read-only/i);
  });
});
