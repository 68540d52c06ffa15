import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { startServer, type TestServer } from '../support/server.js';

const run = promisify(execFile);
const SECRET = 'planted-secret-of-the-configuration';
const folder = mkdtempSync(join(tmpdir(), 'graticule-support-'));
const config = join(folder, 'graticule.yaml');
let made = 0;

/** Writes a bundle with the command line, and returns it with the output. */
async function write(args: string[], key = '') {
  const file = join(folder, `support-${made++}.json`);
  const { stdout } = await run(
    process.execPath,
    ['dist/cli/main.js', 'support', 'bundle', file, '--config', config, ...args],
    { env: { ...process.env, SVC_ADMIN_KEY: key, SVC_RELEASES__KEY: `${SECRET}-env` } },
  );
  const text = readFileSync(file, 'utf8');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  return { stdout, text, file, parts: JSON.parse(text).parts };
}

describe('graticule support bundle', () => {
  let server: TestServer;
  beforeAll(async () => {
    writeFileSync(
      config,
      stringify({
        security: { stateKey: SECRET },
        observability: { otlpEndpoint: `http://me:${SECRET}@127.0.0.1:9` },
        data: { sources: ['/srv/customers/acme.gpkg'] },
        events: { webhooks: [{ name: 'a', url: 'https://receiver.invalid/', secret: SECRET }] },
      }),
    );
    server = await startServer({ sources: ['demo/data/world_map.gpkg'] });
  });
  afterAll(() => server?.stop());

  it('collects from a running server without secrets, data and names of files', async () => {
    await fetch(`${server.url}/api/v1/admin/api-keys`, {
      headers: { 'x-api-key': `ghp_${'a1B2'.repeat(9)}` },
    });
    const { parts, text, stdout } = await write(
      ['--data-dir', server.dataDir, '--url', server.url],
      server.adminKey,
    );
    expect(parts.versions).toMatchObject({ node: process.versions.node, gdal: expect.any(String) });
    expect(parts.gdalFormats).toContainEqual({ name: 'GPKG', vector: true, raster: true });
    expect(parts.probes).toEqual({ live: 200, ready: 200 });
    expect(parts.serverVersion.version).toBe(parts.versions.graticule);
    expect(parts.state).toContainEqual({ table: 'audit', rows: expect.any(Number) });
    expect(parts.migrations.map(({ name }: { name: string }) => name)).toContain('0033-diagnostics');
    expect(parts.audit).toMatchObject({ verified: true });
    expect(parts.disk.freeBytes).toBeGreaterThan(0);
    for (const member of ['errors', 'log']) expect(Array.isArray(parts[member]), member).toBe(true);
    const settings = Object.fromEntries(
      parts.configuration.map(({ path, value }: { path: string; value: unknown }) => [path, value]),
    );
    expect(settings).toMatchObject({
      'security.stateKey': '***',
      'releases.key': '***',
      'data.sources': '1 entries',
      'events.webhooks': '***',
      'observability.otlpEndpoint': 'http://***@127.0.0.1:9',
    });
    expect(settings).not.toHaveProperty('server.port');
    for (const absent of [SECRET, server.adminKey, 'acme', 'world_map']) expect(text).not.toContain(absent);
    expect(parts.files.length).toBeGreaterThan(0);
    for (const file of parts.files)
      expect(Object.keys(file)).toEqual(['kind', 'bytes', 'modified', 'entries']);
    expect(Object.keys(parts.telemetry).sort()).toEqual(['otlpConfigured', 'tracingEnabled']);
    expect(stdout).toContain('collected files, omitted name\n');
    expect(stdout).toContain('collected telemetry, omitted otlpEndpoint\n');
  });

  it('works without a server and without a state, and names the omitted parts', async () => {
    const { parts, stdout } = await write(
      ['--data-dir', join(folder, 'none'), '--url', 'http://127.0.0.1:9'],
      'key',
    );
    expect(parts.machine.cores).toBeGreaterThan(0);
    expect(parts.state).toEqual({ notAvailable: 'there is no state file' });
    expect(parts.errors.notAvailable).toContain('does not respond');
    for (const part of ['state', 'migrations', 'files', 'disk', 'probes', 'errors', 'audit'])
      expect(stdout).toContain(`omitted ${part}: `);
  });

  it('does not replace a file', async () => {
    const file = join(folder, 'there.json');
    writeFileSync(file, 'mine');
    const failed = run(process.execPath, ['dist/cli/main.js', 'support', 'bundle', file]);
    await expect(failed).rejects.toMatchObject({ stderr: expect.stringContaining('already exists') });
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });
});
