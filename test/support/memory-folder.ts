import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

/** A file system in memory: it has no journal, and syncs there cost nothing. */
const PLACE = '/dev/shm';
const PREFIX = 'graticule-tests-';
/** Free for the files of a run, there and in the machine. */
const MIN_BYTES = 8 * 2 ** 30;

/**
 * Has temporary files of this process and its children in memory where there is enough of it and `TMPDIR` names no other place.
 * Returns what removes them.
 */
export function keepFilesInMemory(): () => void {
  if (process.env['TMPDIR'] !== undefined || !hasRoom()) return () => {};
  removeAbandoned();
  const folder = join(PLACE, `${PREFIX}${process.pid}`);
  mkdirSync(folder);
  // Databases run as another user.
  chmodSync(folder, 0o1777);
  process.env['TMPDIR'] = folder;
  return () => {
    delete process.env['TMPDIR'];
    rmSync(folder, { recursive: true, force: true });
  };
}

function hasRoom(): boolean {
  try {
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .find((line) => line.split(' ')[1] === PLACE);
    const [, , type, options = ''] = mount?.split(' ') ?? [];
    const { bavail, bsize } = statfsSync(PLACE);
    const [, available] = /^MemAvailable: +(\d+) kB/m.exec(readFileSync('/proc/meminfo', 'utf8')) ?? [];
    const runsPrograms = !options.split(',').includes('noexec');
    return (
      type === 'tmpfs' && runsPrograms && Math.min(bavail * bsize, Number(available) * 1024) >= MIN_BYTES
    );
  } catch {
    return false;
  }
}

/** Of runs that were killed. */
function removeAbandoned(): void {
  for (const name of readdirSync(PLACE).filter((one) => one.startsWith(PREFIX)))
    if (!existsSync(`/proc/${name.slice(PREFIX.length)}`))
      rmSync(join(PLACE, name), { recursive: true, force: true });
}
