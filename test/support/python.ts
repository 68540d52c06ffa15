import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The Python that has the packages of test/requirements.txt. `./run test` makes its virtual environment. */
export function pythonOfClients(): string {
  const cache = process.env.GRATICULE_CACHE ?? join(homedir(), '.cache/graticule');
  const key = createHash('sha256').update(readFileSync('test/requirements.txt')).digest('hex').slice(0, 16);
  const python = join(cache, `python-${key}`, 'bin/python');
  if (!existsSync(python)) throw new Error('The Python clients are not installed: run ./run test once.');
  return python;
}
