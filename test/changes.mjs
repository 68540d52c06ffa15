/**
 * What lands together: the files changed by the commits of the last hours before the newest, or since a commit, and
 * what is not committed.
 */
import { spawnSync } from 'node:child_process';

const HOURS = 4;

function git(...args) {
  const { stdout, status } = spawnSync('git', args, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

/** The commit before the changes: the one that `GRATICULE_CHANGED_SINCE` names, or the newest that is older than some hours. */
function findBase() {
  const { GRATICULE_CHANGED_SINCE: named } = process.env;
  if (named) return git('rev-parse', '--verify', `${named}^{commit}`);
  const newest = git('log', '-1', '--format=%ct');
  const since = Number(newest) - HOURS * 3600;
  // Not the commits of merged branches: an older one of these has not landed before.
  return newest && git('rev-list', '-1', '--first-parent', `--before=${since}`, 'HEAD');
}

/** Undefined without the history that tells. */
function changedFiles() {
  const before = findBase();
  if (!before) return undefined;
  const added = git('ls-files', '--others', '--exclude-standard') ?? '';
  return git('diff', '--name-only', before)?.split('\n').concat(added.split('\n'));
}

const changed = changedFiles();

/** True when a file or folder was changed, or when nobody can tell. */
export const isChanged = (place) =>
  !changed || changed.some((path) => path === place || path.startsWith(`${place}/`));
