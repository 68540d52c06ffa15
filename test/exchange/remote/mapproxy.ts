import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../support/ports.js';
import { pythonOfClients } from '../../support/python.js';
import { REMOTE_HOST } from './support.js';

const CONFIGURATION = `
services:
  wmts: {restful: true, kvp: true}
layers:
  - {name: drawn, title: Drawn tiles, tile_sources: [drawn]}
caches:
  drawn: {grids: [mercator, degrees], sources: [names], disable_storage: true, format: image/png}
sources:
  names: {type: debug}
grids:
  mercator: {base: GLOBAL_WEBMERCATOR, num_levels: 6}
  degrees: {base: GLOBAL_GEODETIC, num_levels: 4, origin: nw}
`;

/** MapProxy as a WMTS of tiles that say where they are: a layer in Web Mercator, and in degrees. */
export async function startMapProxy(folder: string): Promise<{ url: string; close(): Promise<void> }> {
  const path = join(folder, 'mapproxy.yaml');
  writeFileSync(path, CONFIGURATION);
  const address = `${REMOTE_HOST}:${await freePort()}`;
  const command = join(dirname(pythonOfClients()), 'mapproxy-util');
  const child = spawn(command, ['serve-develop', path, '--bind', address], {
    stdio: 'ignore',
    cwd: folder,
    detached: true,
  });
  const ended = once(child, 'exit');
  const url = `http://${address}`;
  const isUp = () =>
    fetch(`${url}/wmts/1.0.0/WMTSCapabilities.xml`).then(
      (one) => one.ok,
      () => false,
    );
  for (const late = Date.now() + 60_000; !(await isUp()); await pause(100))
    if (Date.now() > late || child.exitCode !== null) throw new Error('MapProxy does not start');
  return {
    url,
    async close() {
      // Its server is a child of its own.
      process.kill(-child.pid!, 'SIGKILL');
      await ended;
    },
  };
}
