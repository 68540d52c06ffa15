/**
 * What lands together: the files changed by the commits of the last hours before the newest, or since a commit, and
 * what is not committed. A file that was moved, or whose imports and comments alone changed, counts as unchanged.
 */
import { spawnSync } from 'node:child_process';

const HOURS = 3;
const MAX_BYTES = 1 << 29;

/** Lines of imports, of comments, and empty ones. */
const NO_CODE =
  /^\s*(?:import\b.*|export .* from '.*|\} from '.*|(?:type )?\w+(?: as \w+)?,|#include .*|\/\/.*|\/?\*.*)?$/;

function git(...args) {
  const { stdout, status } = spawnSync('git', args, { encoding: 'utf8', maxBuffer: MAX_BYTES });
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

/** The paths of a diff without context in which a line of code changed; of a moved file, the new path. */
function readPaths(diff) {
  const paths = new Set();
  let [from, to] = [undefined, undefined];
  for (const line of diff.split('\n')) {
    if (line.startsWith('diff --git ')) [from, to] = [undefined, undefined];
    else if (from === undefined && line.startsWith('--- ')) from = line.slice(6);
    else if (to === undefined && line.startsWith('+++ '))
      to = line === '+++ /dev/null' ? from : line.slice(6);
    else if (line.startsWith('Binary files ')) paths.add(readBinaryPath(line));
    else if (to !== undefined && /^[+-]/.test(line) && !NO_CODE.test(line.slice(1))) paths.add(to);
  }
  return [...paths];
}

/** The path of a changed, added or removed binary file. */
function readBinaryPath(line) {
  const [, before, after] = /^Binary files (.*) and (.*) differ$/.exec(line);
  return (after === '/dev/null' ? before : after).slice(2);
}

/** Undefined without the history that tells. */
function changedFiles() {
  const before = findBase();
  const diff = before && git('diff', '--no-ext-diff', '--find-renames', '-l0', '--unified=0', before);
  if (diff === undefined) return undefined;
  const added = git('ls-files', '--others', '--exclude-standard') ?? '';
  return readPaths(diff).concat(added.split('\n').filter(Boolean));
}

const changed = changedFiles();

/** True when a file or folder was changed, or when nobody can tell. */
export const isChanged = (place) =>
  !changed || changed.some((path) => path === place || path.startsWith(`${place}/`));
