import { availableParallelism, totalmem } from 'node:os';
import { NODE_VERSIONS, nodeVersion, uwsPackage } from '../core/kit/runtime.js';
import { version } from '../core/kit/version.js';

interface Check {
  name: string;
  run(): Promise<string>;
}

/** Requirements of the server, each tested by use. */
const CHECKS: readonly Check[] = [
  {
    name: 'Node.js',
    async run() {
      if (!NODE_VERSIONS.includes(nodeVersion(process.version)))
        throw new Error(`${process.version}; version ${NODE_VERSIONS.join(' or ')} is needed`);
      return process.version;
    },
  },
  {
    name: 'native addon',
    async run() {
      const { describeCrs } = await import('../native/index.js');
      return `loads, PROJ knows ${describeCrs('EPSG:3857').name}`;
    },
  },
  {
    name: 'SQLite extension',
    async run() {
      const { default: Database } = await import('../native/sqlite.js');
      const { sqliteExtensionPath } = await import('../native/index.js');
      const db = new Database(':memory:');
      db.loadExtension(sqliteExtensionPath());
      return `loads into SQLite ${db.prepare('SELECT sqlite_version()').pluck().get()}`;
    },
  },
  {
    name: 'uWebSockets.js',
    async run() {
      const name = uwsPackage(process.version);
      const uws = (await import(name)) as { App?: unknown };
      if (typeof uws.App !== 'function') throw new Error(`${name} does not export App`);
      return `${name} loads`;
    },
  },
  {
    name: 'GDAL',
    async run() {
      const gdal = (await import('gdal-async')).default;
      return `${gdal.version}, ${gdal.drivers.count()} drivers`;
    },
  },
  {
    name: 'Mapnik',
    async run() {
      const mapnik = (await import('@mapnik/mapnik')).default as { versions?: { mapnik?: string } };
      return mapnik.versions?.mapnik ?? 'loads';
    },
  },
  {
    name: 'fonts',
    async run() {
      const { fontFiles, isInstalled } = await import('../workers/styles/symbols/font-files.js');
      const { EAST_ASIAN_FACE } = await import('../core/styles/fonts.js');
      const faces = `${fontFiles().length} faces`;
      if (isInstalled(EAST_ASIAN_FACE)) return faces;
      return `${faces}; none for Chinese and Japanese (Debian: fonts-droid-fallback)`;
    },
  },
];

/** `graticule doctor`: tries every part on this machine; exit code 1 when one fails. */
export async function doctor(): Promise<void> {
  const lines = [
    `graticule ${version()}, ${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`,
  ];
  for (const check of CHECKS) {
    try {
      lines.push(`  ok    ${check.name}: ${await check.run()}`);
    } catch (error) {
      process.exitCode = 1;
      lines.push(`  FAIL  ${check.name}: ${(error as Error).message.split('\n')[0]}`);
    }
  }
  process.stdout.write(`${lines.join('\n')}\n`);
}
