import { describe, expect, it } from 'vitest';
import type { CatalogSnapshot } from '../../../src/core/catalog/collection.js';
import { splitRefusal } from '../../../src/core/catalog/refusal.js';
import { SourceStates } from '../../../src/services/catalog/source-states.js';
import { JsonSyntax } from '../../../src/workers/exchange/json-syntax.js';

function check(text: string, isSequence = false) {
  const syntax = new JsonSyntax(isSequence);
  for (const byte of Buffer.from(text)) syntax.read(Uint8Array.of(byte));
  const whole = new JsonSyntax(isSequence);
  const fault = whole.read(Buffer.from(text)) ?? whole.end();
  expect(syntax.end()).toEqual(fault);
  return fault;
}

describe('JSON syntax', () => {
  const valid = ['{}', '[]', ' {"a" : [1, -2.5e+3, true, null, "x\\"]"], "b":{}} ', '"x"', '0', '[[[]]]'];
  it.each(valid)('%s has no fault', (text) => {
    JSON.parse(text);
    expect(check(text)).toBeUndefined();
  });

  it.each([
    ['{"a":', { at: 5, found: undefined, expected: 'a value' }],
    ['{"a', { at: 3, found: undefined, expected: 'the end of a string' }],
    ['[1,', { at: 3, found: undefined, expected: 'a value' }],
    ['[1', { at: 2, found: undefined, expected: 'a comma or the end of the list or object' }],
    ['[1,]', { at: 3, found: ']', expected: 'a value' }],
    ['{"a":1,}', { at: 7, found: '}', expected: 'a name in quotes' }],
    ['{a:1}', { at: 1, found: 'a', expected: 'a name in quotes or }' }],
    ['[1}', { at: 2, found: '}', expected: 'a comma or the end of the list or object' }],
    ['[nul]', { at: 1, found: 'nul', expected: 'a value or ]' }],
    ['[nul', { at: 4, found: undefined, expected: 'the end of a value' }],
    ['[-1.', { at: 4, found: undefined, expected: 'the end of a value' }],
    ['{} {}', { at: 3, found: '{', expected: 'the end of the file' }],
  ])('%s has one', (text, fault) => {
    expect(() => JSON.parse(text)).toThrow();
    expect(check(text)).toEqual(fault);
  });

  it('allows several texts in a sequence', () => {
    expect(check('{"a":1}\n{"a":2}\n', true)).toBeUndefined();
    expect(check('{"a":1}\n{broken\n', true)).toMatchObject({ at: 9, found: 'b' });
  });
});

it('splits a message into reason and remedy', () => {
  expect(splitRefusal('DWG is not supported. Save it as DXF.')).toEqual({
    reason: 'DWG is not supported.',
    remedy: 'Save it as DXF.',
  });
  expect(splitRefusal('The raster has no bands.')).toEqual({
    reason: 'The raster has no bands.',
    remedy: undefined,
  });
});

it('dates the state of a source from when it was first seen', async () => {
  const snapshot = (quarantined: object[]) =>
    ({ quarantined, collections: [] }) as unknown as CatalogSnapshot;
  const entry = { path: '/data/a.shp', reason: 'The file is empty. Copy it again.' };
  let shown = snapshot([entry]);
  const published: unknown[] = [];
  const states = new SourceStates({
    catalog: () => shown,
    publish: async (_reason, changes) => void published.push(changes),
  });
  const [first] = states.list();
  await new Promise((resolve) => setTimeout(resolve, 5));
  shown = snapshot([entry, { path: '/data/b.shp', reason: 'The folder is gone.' }]);
  const [same, other] = states.list();
  expect(same).toEqual(first);
  expect(other!.seenSince).toBeGreaterThan(first!.seenSince);
  expect(other!.remedy).toMatch(/^Repair/);
  shown = snapshot([{ ...entry, reason: 'The file is truncated. Copy it again.' }]);
  expect(states.list()[0]).toMatchObject({ id: first!.id, seenSince: expect.any(Number) });
  expect(states.list()[0]!.seenSince).toBeGreaterThan(first!.seenSince);
  await states.retry(first!);
  expect(published).toEqual([[{ source: '/data/a.shp' }]]);
});
