/**
 * Takes out of node_modules what this machine does not run: builds for other systems and other versions of Node.js, and
 * what packages were compiled from. Of an image only: ./run brings it back.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  NEWER_SQLITE,
  NEWER_UWS,
  OLDER_SQLITE,
  OLDER_UWS,
  sqlitePackage,
  uwsPackage,
} from '../dist/core/kit/runtime.js';

const MODULES = 'node_modules';
const { platform, arch, version, versions } = process;
const SYSTEM = /(?<system>darwin|linuxmusl|linux|win32)[-_](?<cpu>arm64|arm|x64|ia32)/;
/** Folders of packages that only compiling needs. */
const SOURCES = [
  ...['bench', 'build', 'deps', 'doc', 'src'].map((name) => `gdal-async/${name}`),
  ...['deps', 'src'].map((name) => `@mapnik/mapnik/${name}`),
  ...['deps', 'src'].map((name) => `${NEWER_SQLITE}/${name}`),
];

/** True of a file or folder whose name says that it is a build for another system or another Node.js. */
function isForeign(name) {
  // The other C library: the image is Debian's.
  if (name.endsWith('.musl.node')) return true;
  const { system, cpu } = SYSTEM.exec(name)?.groups ?? {};
  if (!system) return false;
  const abi = /_(\d+)\.node$/.exec(name)?.[1];
  return system !== platform || cpu !== arch || (abi !== undefined && abi !== versions.modules);
}

/** gdal-async does not load without these folders, although it reads those of Debian's GDAL. */
const DATA = [
  'libgdal/gdal/data',
  'libgdal/gdal/frmts/grib/data',
  'libproj/proj/data',
  'libcurl/cacert.pem',
].map((path) => join(MODULES, 'gdal-async/deps', path));

/** Removes a folder but for the data in it. */
function removeSources(path) {
  if (DATA.includes(path)) return;
  if (!DATA.some((data) => data.startsWith(`${path}/`))) return remove(path);
  for (const name of readdirSync(path)) removeSources(join(path, name));
}

function removeForeign(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (isForeign(entry.name)) remove(path);
    else if (entry.isDirectory()) removeForeign(path);
  }
}

const remove = (path) => rmSync(path, { recursive: true, force: true });

const unused = [OLDER_SQLITE, NEWER_SQLITE, OLDER_UWS, NEWER_UWS].filter(
  (name) => name !== sqlitePackage(version) && name !== uwsPackage(version),
);
for (const name of [...unused, ...SOURCES, '.cache', '.stamps']) removeSources(join(MODULES, name));
removeForeign(MODULES);
