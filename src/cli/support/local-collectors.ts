import { existsSync, readdirSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { availableParallelism, freemem, release, totalmem, uptime } from 'node:os';
import { join, resolve } from 'node:path';
import type { Config, Setting } from '../../core/config/config.js';
import { version } from '../../core/kit/version.js';
import { hideSecretsIn, MASK } from '../../core/sources/hidden-secrets.js';
import Database from '../../native/sqlite.js';
import { STATE_FILE } from '../../stores/database/private-files.js';
import type { FactCollector } from './collector.js';

/** Collectors that need no running server. */
export function localCollectors(config: Config, settings: readonly Setting[]): FactCollector[] {
  const folder = resolve(config.data.directory);
  return [
    {
      name: 'versions',
      fields: ['graticule', 'node', 'openssl', 'sqlite', 'gdal', 'platform', 'arch', 'kernel'],
      async collect() {
        const gdal = (await import('gdal-async')).default;
        const db = new Database(':memory:');
        const sqlite = db.prepare('SELECT sqlite_version()').pluck().get();
        db.close();
        const { platform, arch, versions } = process;
        const { node, openssl } = versions;
        return {
          ...{ graticule: version(), node, openssl, sqlite, gdal: gdal.version, platform, arch },
          kernel: release(),
        };
      },
    },
    {
      name: 'machine',
      fields: ['cores', 'memoryBytes', 'freeMemoryBytes', 'uptimeSeconds'],
      collect: async () => ({
        ...{ cores: availableParallelism(), memoryBytes: totalmem(), freeMemoryBytes: freemem() },
        uptimeSeconds: Math.round(uptime()),
      }),
    },
    {
      name: 'configuration',
      fields: ['path', 'source', 'value'],
      collect: async () => settings.filter(({ source }) => source !== 'default').map(describeSetting),
    },
    {
      name: 'disk',
      fields: ['totalBytes', 'freeBytes', 'freeFiles'],
      async collect() {
        const { bsize, blocks, bavail, ffree } = await statfs(existing(folder));
        return { totalBytes: bsize * blocks, freeBytes: bsize * bavail, freeFiles: ffree };
      },
    },
    {
      name: 'files',
      fields: ['kind', 'bytes', 'modified', 'entries'],
      collect: async () => readdirSync(existing(folder)).map((name) => describeEntry(folder, name)),
    },
    {
      name: 'gdalFormats',
      fields: ['name', 'vector', 'raster'],
      async collect() {
        const gdal = (await import('gdal-async')).default;
        return gdal.drivers.map((driver) => {
          const { DCAP_VECTOR, DCAP_RASTER } = driver.getMetadata() as Record<string, string>;
          return {
            name: driver.description,
            ...{ vector: DCAP_VECTOR === 'YES', raster: DCAP_RASTER === 'YES' },
          };
        });
      },
    },
    {
      name: 'state',
      fields: ['table', 'rows'],
      collect: async () => readState(config, folder, countRows),
    },
    {
      name: 'migrations',
      fields: ['name', 'timestamp'],
      collect: async () =>
        readState(
          config,
          folder,
          (db) => db.prepare('SELECT name, timestamp FROM kysely_migration ORDER BY name').all() as object[],
        ),
    },
  ];
}

function existing(folder: string): string {
  if (!existsSync(folder)) throw new Error('the data folder does not exist');
  return folder;
}

/** Values of secrets are masked. Sources of data and names of places are private, so only their number is shown. */
function describeSetting({ path, source, value, secret }: Setting): object {
  if (secret) return { path, source, value: MASK };
  if (Array.isArray(value)) return { path, source, value: `${value.length} entries` };
  if (typeof value === 'object' && value !== null)
    return { path, source, value: `${Object.keys(value).length} members` };
  return { path, source, value: hideSecretsIn(value) };
}

/** Names of files can be names of customers, so only the ending of a name is shown. */
function describeEntry(folder: string, name: string): object {
  const path = join(folder, name);
  const stats = statSync(path);
  const ending = /\.[A-Za-z0-9]{1,12}$/.exec(name)?.[0] ?? '';
  return {
    name,
    kind: stats.isDirectory() ? 'folder' : `file${ending}`,
    bytes: stats.isDirectory() ? null : stats.size,
    modified: stats.mtime.toISOString(),
    entries: stats.isDirectory() ? readdirSync(path).length : null,
  };
}

/** Reads a state file without a change, also while its server runs. */
function readState(
  config: Config,
  folder: string,
  read: (db: InstanceType<typeof Database>) => object[],
): object[] {
  if (config.state.url !== '') throw new Error('the state is in PostgreSQL');
  const path = join(folder, STATE_FILE);
  if (!existsSync(path)) throw new Error('there is no state file');
  const db = new Database(path, { readonly: true });
  try {
    return read(db);
  } finally {
    db.close();
  }
}

function countRows(db: InstanceType<typeof Database>): object[] {
  const tables = db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
    .pluck()
    .all() as string[];
  return tables.map((table) => ({
    table,
    rows: db
      .prepare(`SELECT count(*) FROM "${table.replaceAll('"', '""')}"`)
      .pluck()
      .get(),
  }));
}
