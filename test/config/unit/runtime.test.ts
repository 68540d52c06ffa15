import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import {
  NEWER_SQLITE,
  NEWER_UWS,
  NODE_VERSIONS,
  nodeVersion,
  OLDER_SQLITE,
  OLDER_UWS,
  sqlitePackage,
  uwsPackage,
} from '../../../src/core/kit/runtime.js';

it('Node.js 20 takes the older build of uWebSockets.js, all later ones the newer', () => {
  expect(uwsPackage('v20.20.2')).toBe(OLDER_UWS);
  expect(uwsPackage('v22.1.0')).toBe(NEWER_UWS);
  expect(uwsPackage('v24.21.0')).toBe(NEWER_UWS);
});

it('Node.js 20 takes the SQLite package that is compiled, all later ones the one that comes compiled', () => {
  expect(sqlitePackage('v20.20.2')).toBe(OLDER_SQLITE);
  expect(sqlitePackage('v22.1.0')).toBe(NEWER_SQLITE);
  expect(sqlitePackage('v24.21.0')).toBe(NEWER_SQLITE);
});

it('the SQLite package of this Node.js opens a database', () => {
  const Database = createRequire(import.meta.url)(
    sqlitePackage(process.version),
  ) as typeof import('better-sqlite3');
  expect(new Database(':memory:').prepare('SELECT 1').pluck().get()).toBe(1);
});

it('the package of this Node.js loads', () => {
  const library = createRequire(import.meta.url)(uwsPackage(process.version)) as { App?: unknown };
  expect(typeof library.App).toBe('function');
});

it('package.json, the run script and the server name the same versions of Node.js', () => {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };
  expect(engines.node).toBe(NODE_VERSIONS.map((version) => `${version}.x`).join(' || '));
  const versions = [...readFileSync('run', 'utf8').matchAll(/^ {4}v(\d+)\.\*\)/gm)].map(([, version]) =>
    Number(version),
  );
  expect(versions.sort()).toEqual(NODE_VERSIONS);
  expect(NODE_VERSIONS).toContain(nodeVersion(process.version));
});

it('the run script refuses a Node.js that has no build, by its version', () => {
  const run = (version: string, glibc: string) =>
    execFileSync(
      'bash',
      [
        '-c',
        `fail() { echo "$*"; exit 0; }; say() { :; }; node() { echo ${version}; }; getconf() { echo 'glibc ${glibc}'; }
         eval "$(sed -n '/^need_node()/,/^}/p' run)"; need_node; echo taken`,
      ],
      { encoding: 'utf8' },
    ).trim();
  expect(run('v20.20.2', '2.36')).toBe('taken');
  expect(run('v24.21.0', '2.41')).toBe('taken');
  expect(run('v24.21.0', '2.38')).toBe('taken');
  expect(run('v24.21.0', '2.36')).toContain('glibc 2.38');
  expect(run('v18.20.0', '2.36')).toContain('v18.20.0');
  expect(run('v22.1.0', '2.41')).toContain('v22.1.0');
});
