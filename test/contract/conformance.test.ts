import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { type SharedServer, sharedServer } from '../support/shared-server.js';
import { STANDARDS } from './requirements.js';

/** What a surface declares to conform to is what tests of that standard show, requirement by requirement. */

/** Where classes are declared. */
const DECLARATIONS = [
  '/ogc/features/conformance',
  '/ogc/tiles/conformance',
  '/ogc/maps/conformance',
  '/ogc/coverages/conformance',
  '/ogc/processes/conformance',
  '/stac/conformance',
];

let server: SharedServer;
let declared: string[];

beforeAll(async () => {
  server = await sharedServer();
  const lists = DECLARATIONS.map(async (path) => {
    const response = await fetch(server.url + path, { headers: { accept: 'application/json' } });
    return ((await response.json()) as { conformsTo: string[] }).conformsTo;
  });
  declared = [...new Set((await Promise.all(lists)).flat())];
});

/** The requirements that titles of tests in these folders and files name. */
function namedIn(places: readonly string[]): Set<string> {
  const files = places.flatMap((place) => {
    const path = join('test', place);
    if (!statSync(path).isDirectory()) return [path];
    return readdirSync(path, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(path, name));
  });
  const text = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  // `/req/core/fc-op`, or `/req/core/{fc-op,fc-response}` for several of a class.
  const names = [...text.matchAll(/\/req\/([\w#-]+)\/(?:\{([\w,-]+)\}|([\w-]+))/g)];
  return new Set(
    names.flatMap(([, group, several, one]) =>
      (several ?? one)!.split(',').map((name) => `${group}/${name}`),
    ),
  );
}

it('every class that is declared is one whose requirements are listed, and the other way round', () => {
  const listed = STANDARDS.flatMap(({ uri, classes }) => Object.keys(classes).map((name) => uri + name));
  expect(declared.filter((uri) => !listed.includes(uri))).toEqual([]);
  expect(listed.filter((uri) => !declared.includes(uri))).toEqual([]);
});

it.each(STANDARDS)('every requirement of $uri has a test of its name', ({ tests, classes }) => {
  const named = namedIn(tests);
  const missing = Object.entries(classes)
    .flatMap(([name, requirements]) => requirements.split(' ').map((one) => `${name}/${one}`))
    .filter((requirement) => !named.has(requirement));
  expect(missing).toEqual([]);
});
