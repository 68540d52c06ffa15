import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { version } from '../../../core/kit/version.js';
import { builtFile } from '../../../native/built.js';

/** Entries of the threads that inspect: the build writes the hash of the code into them. */
const ENTRIES = ['vector', 'raster'];
const NATIVE_PARTS = ['graticule.node', 'graticule_sqlite.so', 'graticule_proj.node'];
/** Settings of the libraries that read files. */
const VARIABLES = /^(CPL|GDAL|OGR|OSR|PROJ)_/;

/** Returns a name of the code that inspects files. It changes with each build and with the settings of GDAL and PROJ. */
export function nameInspectingCode(env: NodeJS.ProcessEnv = process.env): string {
  const settings = Object.entries(env).filter(([name]) => VARIABLES.test(name));
  const parts = [
    version(),
    process.version,
    ...ENTRIES.map(readEntry),
    ...NATIVE_PARTS.map((name) => describe(builtFile(name))),
    JSON.stringify(settings.sort()),
  ];
  return createHash('sha256').update(parts.join('\0')).digest('hex');
}

/** Returns an empty string where threads run from sources. */
function readEntry(thread: string): string {
  try {
    return readFileSync(
      fileURLToPath(new URL(`../../../workers/entries/${thread}.js`, import.meta.url)),
      'utf8',
    );
  } catch {
    return '';
  }
}

function describe(path: string): string {
  const { size, mtimeMs } = statSync(path);
  return `${size} ${mtimeMs}`;
}
