import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeHostBundle } from './host-bundle.mjs';
import { keepFilesInMemory } from './memory-folder.js';
import { claimPorts } from './ports.js';
import { startServer, type TestServer } from './server.js';

/** Names the folder of what the test files of one run share. */
export const RUN_VARIABLE = 'GRATICULE_TEST_RUN';
/** In that folder: tells whoever connects where the shared server is, and starts it for the first. */
export const SHARED_SERVER = 'server.sock';

/** Ends the run where it would try something else than the sources beside it; mutants are not built on purpose. */
function requireBuild(): void {
  if (process.env['GRATICULE_MUTANT']) return;
  const { status } = spawnSync('./run', ['is-built'], { stdio: 'inherit' });
  // Not thrown: vitest fails to print errors of modules that come from its cache.
  if (status !== 0) process.exit(1);
}

/** Before the first test file of a run; the answer ends it. */
export default async function setup(): Promise<() => Promise<void>> {
  requireBuild();
  await makeHostBundle();
  const ports = await claimPorts();
  const removeFiles = keepFilesInMemory();
  const folder = mkdtempSync(join(tmpdir(), 'graticule-run-'));
  process.env[RUN_VARIABLE] = folder;
  let server: Promise<TestServer> | undefined;
  const door = createServer((socket) => {
    server ??= startServer();
    server.then(
      ({ url, adminKey }) => socket.end(JSON.stringify({ url, adminKey })),
      (error) => socket.end(JSON.stringify({ failure: String(error) })),
    );
  });
  await new Promise<void>((resolve) => door.listen(join(folder, SHARED_SERVER), resolve));
  return async () => {
    door.close();
    ports?.close();
    await (await server?.catch(() => undefined))?.stop();
    rmSync(folder, { recursive: true, force: true });
    removeFiles();
  };
}
