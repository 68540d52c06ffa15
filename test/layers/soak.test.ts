import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { isFullRun, repetitions } from '../support/soak.js';

const { SOAKS } = (await import('../soak.mjs' as string)) as { SOAKS: Record<string, string[]> };

it('each file and folder of the table of soaks exists', () => {
  const places = Object.entries(SOAKS).flat(2);
  expect(places.filter((path) => !existsSync(path))).toEqual([]);
});

it('the table of soaks has the test files with a brief run, and code for each', () => {
  const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
    .map((name) => join('test', name))
    .filter((path) => path.endsWith('.test.ts'))
    .filter((path) => /\b(isFullRun|repetitions)\(import\.meta\.url/.test(readFileSync(path, 'utf8')));
  expect(Object.keys(SOAKS).sort()).toEqual(files.sort());
  expect(Object.entries(SOAKS).filter(([, places]) => places.length === 0)).toEqual([]);
});

it('a test file runs in full if it is named, and with all repetitions in a soak alone', () => {
  const one = pathToFileURL(resolve('test/e2e/failures/crash.test.ts')).href;
  const other = pathToFileURL(resolve('test/e2e/failures/stream-crash.test.ts')).href;
  const named = 'test/e2e/failures/crash.test.ts test/native/analytics/h3.test.ts';
  expect([isFullRun(one, named), isFullRun(other, named), isFullRun(one, '')]).toEqual([true, false, false]);
  expect([isFullRun(one, 'all'), isFullRun(other, 'all')]).toEqual([true, true]);
  const counts = ['', named, 'all'].map((soak) => repetitions(one, 100, 3, soak));
  expect(counts).toEqual([3, 10, 100]);
  expect(repetitions(one, 10, 3, named)).toBe(3);
});

it('a changed source makes its test files run in full only where it is asked for', () => {
  const list = (...args: string[]) => {
    const env = { ...process.env, GRATICULE_CHANGED_SINCE: 'nowhere' };
    return execFileSync('node', ['test/soak.mjs', ...args], { env, encoding: 'utf8' })
      .trim()
      .split(' ');
  };
  // Nobody can tell what was changed.
  expect(list()).toEqual(Object.keys(SOAKS));
  const folder = mkdtempSync(join(tmpdir(), 'graticule-soaks-'));
  try {
    execFileSync('git', ['clone', '-q', '--shared', '.', folder]);
    const program = resolve('test/soak.mjs');
    writeFileSync(join(folder, 'src/services/webhooks/collector.ts'), 'changed();\n');
    writeFileSync(join(folder, 'test/alerts/drivers.ts'), 'changed();\n');
    const changed = (...args: string[]) => {
      const env = { ...process.env, GRATICULE_CHANGED_SINCE: 'HEAD' };
      return execFileSync('node', [program, ...args], { cwd: folder, env, encoding: 'utf8' })
        .trim()
        .split(' ');
    };
    expect(changed()).toEqual(['test/alerts/kill.test.ts']);
    expect(changed('--code')).toEqual(
      expect.arrayContaining(['test/alerts/kill.test.ts', 'test/webhooks/webhooks.test.ts']),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

it('finds changed code of merged branches of any age, of the last commits or since one, and what is not committed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-changes-'));
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
  const git = (hour: number, ...args: string[]) => {
    const GIT_COMMITTER_DATE = `2026-01-01T${String(hour).padStart(2, '0')}:00:00Z`;
    const names = ['-c', 'user.name=a', '-c', 'user.email=a@example.org'];
    execFileSync('git', [...names, ...args], { cwd: folder, env: { ...env, GIT_COMMITTER_DATE } });
  };
  const commit = (hour: number, name: string) => {
    writeFileSync(join(folder, name), `${name}();\n`);
    git(hour, 'add', '.');
    git(hour, 'commit', '-qm', name);
  };
  try {
    git(0, 'init', '-q', '-b', 'main');
    commit(1, 'first');
    commit(2, 'old');
    git(3, 'checkout', '-q', '-b', 'branch', 'HEAD~1');
    commit(3, 'merged');
    git(3, 'checkout', '-q', 'main');
    git(12, 'merge', '-q', '--no-ff', '-m', 'merge', 'branch');
    commit(13, 'late');
    writeFileSync(join(folder, 'late'), 'edited();\n');
    writeFileSync(join(folder, 'added'), '');
    renameSync(join(folder, 'old'), join(folder, 'moved'));
    git(13, 'add', 'moved', 'old');
    writeFileSync(join(folder, 'first'), "import { b } from './b.js';\n// A comment.\nfirst();\n");
    const program = `import { isChanged } from ${JSON.stringify(pathToFileURL(resolve('test/changes.mjs')).href)};
      console.log(['first', 'old', 'moved', 'merged', 'late', 'added'].filter(isChanged).join());`;
    const changed = (since?: string) => {
      const own = { ...env, GRATICULE_CHANGED_SINCE: since };
      const options = { cwd: folder, env: own, encoding: 'utf8' } as const;
      return execFileSync('node', ['--input-type=module', '-e', program], options).trim();
    };
    expect(changed()).toBe('merged,late,added');
    expect(changed('HEAD~1')).toBe('late,added');
    expect(changed('HEAD~2')).toBe('merged,late,added');
    // Nobody can tell.
    expect(changed('nowhere')).toBe('first,old,moved,merged,late,added');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
