import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { selectMembers } from '../../src/workers/stac/fields.js';
import { parseStacItem } from '../../src/workers/stac/ingest/item.js';
import { type CatalogVisitor, readCatalog, type StacItemEntry } from '../../src/workers/stac/ingest/read.js';
import { gridItem } from './catalog-files.js';

let folder: string;
let refused: string[];
let items: StacItemEntry[];
const reader: CatalogVisitor = {
  collection: () => {},
  item: (found) => void items.push(found),
  refuse: (_, reason) => void refused.push(reason),
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-hostile-'));
  refused = [];
  items = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, document: unknown): string => {
  const path = join(folder, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, typeof document === 'string' ? document : JSON.stringify(document));
  return path;
};
const catalog = (id: string, ...children: string[]) => ({
  type: 'Catalog',
  stac_version: '1.0.0',
  id,
  links: children.map((href) => ({ rel: 'child', href })),
});

it('a circle of catalogs ends', () => {
  write('b.json', catalog('b', './a.json', './b.json'));
  readCatalog(write('a.json', catalog('a', './b.json', './a.json')), reader);
  expect([items, refused]).toEqual([[], []]);
});

it('a catalog that is too deep is cut off, and says so', () => {
  for (let n = 0; n < 40; n++) write(`${n}.json`, catalog(`${n}`, `./${n + 1}.json`));
  readCatalog(join(folder, '0.json'), reader);
  expect(refused).toEqual([expect.stringMatching(/deeper than 16 levels/)]);
});

it('links that are no links are passed over', () => {
  const links = [null, 3, 'x', {}, { rel: 'child' }, { rel: 3, href: 'a' }, { rel: 'child', href: {} }];
  readCatalog(write('a.json', { ...catalog('a'), links }), reader);
  readCatalog(write('b.json', { ...catalog('b'), links: 'none' }), reader);
  expect(items).toEqual([]);
});

it('a percent escape that is none is refused as a link', () => {
  readCatalog(write('a.json', catalog('a', './%E0%A4%A.json', './%2e%2e%2fpasswd')), reader);
  expect(refused).toHaveLength(2);
});

it.each<[string, unknown, RegExp]>([
  ['no object', 3, /not a GeoJSON feature/],
  ['no id', gridItem(0, { id: 7 }), /id is no text/],
  ['a long id', gridItem(0, { id: 'x'.repeat(257) }), /id is no text/],
  ['no version', gridItem(0, { stac_version: undefined }), /no stac_version/],
  ['no properties', gridItem(0, { properties: null }), /no properties/],
  ['no time', gridItem(0, { properties: { datetime: 'yesterday' } }), /no RFC 3339/],
  ['a position that is text', gridItem(0, { geometry: { type: 'Point', coordinates: ['1', 0] } }), /./],
  ['a broken geometry', gridItem(0, { geometry: { type: 'Polygon', coordinates: 'x' } }), /./],
  ['deep members', gridItem(0, { deep: JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`) }), /nested/],
])('an item with %s is refused', (_, value, reason) => {
  const found = { value: JSON.parse(JSON.stringify(value)), place: 'here', folder, collection: undefined };
  expect(() => parseStacItem(found, folder)).toThrow(reason);
});

it('hrefs that nobody should follow are dropped', () => {
  const hrefs = [
    'javascript:alert(1)',
    'JaVaScRiPt:x',
    'data:text/html,x',
    'file:///etc/passwd',
    '//evil.example/x',
    '/etc/passwd',
    '',
    7,
  ];
  const assets = Object.fromEntries(hrefs.map((href, i) => [`a${i}`, { href }]));
  const value = { ...gridItem(0), assets, links: hrefs.map((href) => ({ rel: 'about', href })) };
  const { item, files } = parseStacItem({ value, place: 'here', folder, collection: undefined }, folder);
  expect([item['assets'], item['links'], files]).toEqual([{}, [], {}]);
});

it('a line that is too long ends the reading', () => {
  const path = write('lines.ndjson', `${JSON.stringify(gridItem(0))}\n"${'x'.repeat(6_000_000)}"`);
  expect(() => readCatalog(path, reader)).toThrow(/longer than/);
});

it('chosen members are taken from the item alone', () => {
  const item = JSON.parse('{"id":"a","properties":{"a.b":1,"c":{"d":2}},"__proto__":{"x":1}}');
  expect(
    selectMembers(item, { include: ['properties.a.b', 'properties.c.d', 'constructor', 'toString.name'] }),
  ).toEqual({
    id: 'a',
    properties: { 'a.b': 1, c: { d: 2 } },
  });
  expect(Object.keys(selectMembers(item, { include: ['__proto__.x'] }))).toEqual(['id', '__proto__']);
  expect(selectMembers(item, { exclude: ['properties.c.d', 'nope.x'] })['properties']).toEqual({
    'a.b': 1,
    c: {},
  });
});
