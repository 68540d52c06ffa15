/** What lands together: the files changed by the commits of the last hours before the newest. */
import { spawnSync } from 'node:child_process';

const HOURS = 4;

function git(...args) {
  const { stdout, status } = spawnSync('git', args, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

/** Undefined without the history that tells. */
function changedFiles() {
  const newest = git('log', '-1', '--format=%ct');
  const before = newest && git('rev-list', '-1', `--before=${Number(newest) - HOURS * 3600}`, 'HEAD');
  if (!before) return undefined;
  return git('diff', '--name-only', before, 'HEAD')?.split('\n');
}

const changed = changedFiles();

/** True when a file or folder was changed, or when nobody can tell. */
export const isChanged = (place) =>
  !changed || changed.some((path) => path === place || path.startsWith(`${place}/`));
