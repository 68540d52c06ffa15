import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { NODE_VERSIONS } from '../../src/core/kit/runtime.js';
import { healthCommand, lastOf, stagesOf } from './support/dockerfile.js';
import { contextFiles } from './support/image.js';

/** What the Dockerfile says; test/deploy/image.test.ts does it. */

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const [head, build, image] = stagesOf();

it('both stages are of the Node.js that README recommends', () => {
  expect(head!.steps[0]!.values).toEqual({ BASE: `node:${NODE_VERSIONS.at(-1)}-trixie-slim` });
  for (const stage of [build, image]) expect(stage!.steps[0]!.text).toMatch(/^\$\{BASE\}( AS build)?$/);
});

it('is of this version', () => {
  expect(lastOf(image!, 'LABEL').values['org.opencontainers.image.version']).toBe(version);
});

it('names no architecture', () => {
  for (const file of ['deploy/Dockerfile', 'deploy/prune-modules.mjs'])
    expect(readFileSync(file, 'utf8').replace(/^const SYSTEM = .*$/m, '')).not.toMatch(
      /amd64|arm64|x86|aarch64|x64/,
    );
});

it('has a user with a number, who is not root', () => {
  expect(lastOf(image!, 'USER').text).toMatch(/^[1-9]\d{3,}:[1-9]\d{3,}$/);
});

it('installs nothing that compiles, and takes from the build only what it gathered', () => {
  const installed = image!.steps.filter(({ keyword }) => keyword === 'RUN').map(({ text }) => text);
  expect(installed.join()).not.toMatch(/-dev\b|g\+\+|python3|npm|\bmake\b/);
  expect(image!.steps.filter(({ keyword }) => keyword === 'COPY').map(({ text }) => text)).toEqual([
    '/image /opt/graticule',
  ]);
  expect(build!.steps.some(({ text }) => text.includes('npm prune --omit=dev'))).toBe(true);
});

it('is built by ./run', () => {
  const steps = build!.steps.filter(({ keyword }) => keyword === 'RUN').map(({ text }) => text);
  expect(steps.slice(0, 2)).toEqual(['./run modules', './run build']);
});

it('is built of files that are there', () => {
  expect(contextFiles().filter((file) => !existsSync(file))).toEqual([]);
  const copied = build!.steps
    .filter(({ keyword }) => keyword === 'COPY')
    .flatMap(({ text }) => text.split(' '));
  const names = copied.filter((name) => !name.startsWith('.'));
  expect(names.filter((name) => !contextFiles().includes(name))).toEqual([]);
});

it('serves /data on the port of the server', () => {
  expect(lastOf(image!, 'EXPOSE').text).toBe('8080');
  expect(lastOf(image!, 'CMD').list).toEqual(['serve', '/data']);
  expect(lastOf(image!, 'ENV').values['SVC_DATA__DIRECTORY']).toBe(lastOf(image!, 'VOLUME').text);
});

it('is healthy while /healthz/live answers 200, and not when it fails or does not answer', async () => {
  const answer = async (status: number) => {
    const asked: string[] = [];
    const server = createServer(({ url }, response) => {
      asked.push(url!);
      response.writeHead(status).end();
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as AddressInfo;
    const code = await health(port);
    server.close();
    return { code, asked, port };
  };
  const healthy = await answer(200);
  expect(healthy).toMatchObject({ code: 0, asked: ['/healthz/live'] });
  expect(await answer(503)).toMatchObject({ code: 1 });
  expect(await health(healthy.port)).toBe(1);
});

async function health(port: number): Promise<number | null> {
  const [, ...args] = healthCommand(image!);
  const child = spawn(process.execPath, args, {
    env: { ...process.env, PORT: String(port) },
    stdio: 'ignore',
  });
  return new Promise((resolve) => child.once('exit', resolve));
}
