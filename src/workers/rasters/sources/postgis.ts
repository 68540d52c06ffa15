/** Raster columns of PostGIS, by GDAL's driver. Rasters outside of the database are read by its server, if it allows that. */

import { createHash } from 'node:crypto';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { PostgisRaster } from '../../../core/rasters/rasters.js';
import { gdal } from '../../gdal/gdal.js';
import { requireShape } from '../../gdal/shape.js';
import type { OpenRaster, RasterOpener } from './opener.js';

/** Milliseconds for which an open raster counts as current, because changes of rows are not reported. */
const FRESH_MS = 60_000;
const CONNECT_S = 5;
const STATEMENT_MS = 30_000;

/**
 * Server with its failures. GDAL keeps one connection for each connection string, even a broken one, so the string
 * changes after each failure.
 */
interface Server {
  failures: number;
}
const servers = new Map<string, Server>();

export async function postgisOpening(source: PostgisRaster): Promise<RasterOpener> {
  const server = servers.get(source.database) ?? { failures: 0 };
  servers.set(source.database, server);
  const name = formatConnection(source, server.failures);
  const origin = createHash('sha1').update(formatConnection(source, 0)).digest('hex');
  const stamp = `${server.failures} ${Math.floor(Date.now() / FRESH_MS)}`;
  return {
    key: origin,
    origin,
    stamp,
    exclusive: source.database,
    open: () => openColumn(name, server),
    outcome: async () => {
      server.failures += 1;
      return { changed: false, failure: unavailable() };
    },
  };
}

function unavailable(): TaskFailure {
  return new TaskFailure('store-unavailable', 'The database does not respond, or does not show the raster.');
}

async function openColumn(name: string, server: Server): Promise<OpenRaster> {
  let opened: Awaited<ReturnType<typeof gdal.openAsync>>;
  try {
    opened = await gdal.openAsync(name, 'r', ['PostGISRaster']);
  } catch {
    server.failures += 1;
    // GDAL's message can contain the password.
    throw unavailable();
  }
  const dataset = requireShape(opened);
  return { dataset, driver: 'PostGISRaster', close: () => dataset.close() };
}

/** Returns GDAL's connection string: words with values in quotes, for which GDAL does not support escapes. */
function formatConnection({ database, schema, table, column }: PostgisRaster, failures: number): string {
  const application = { application_name: `graticule-${failures}` };
  const words = { ...connectionWords(database), ...application, schema, table, column, mode: '2' };
  for (const [name, value] of Object.entries(words)) {
    if (/['"\\\s]/.test(value) || !/^\w+$/.test(name))
      throw new TaskFailure(
        'source-unreadable',
        'GDAL cannot connect with blanks or quotes in names or passwords.',
      );
  }
  return `PG:${Object.entries(words)
    .map(([name, value]) => `${name}='${value}'`)
    .join(' ')}`;
}

function connectionWords(database: string): Record<string, string> {
  const url = new URL(database);
  const decoded = (text: string) => decodeURIComponent(text);
  const words: Record<string, string> = {
    dbname: decoded(url.pathname.slice(1)) || decoded(url.username),
    host: decoded(url.hostname),
    port: url.port,
    user: decoded(url.username),
    password: decoded(url.password),
    ...Object.fromEntries(url.searchParams),
    connect_timeout: String(CONNECT_S),
    options: `-cstatement_timeout=${STATEMENT_MS}`,
  };
  return Object.fromEntries(Object.entries(words).filter(([, value]) => value !== ''));
}
