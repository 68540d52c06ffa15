import { expect, it } from 'vitest';
import { codedTag, ifMatchTags, matchingForm } from '../../src/gateway/http/replies/entity-tag.js';

const all = () => true;

it('names each form of a content, and the content of each form', () => {
  const codings = ['identity', 'gzip', 'br', 'zstd'] as const;
  const tags = codings.map((coding) => codedTag('a1b2', coding));
  expect(tags).toEqual(['"a1b2"', '"a1b2-gzip"', '"a1b2-br"', '"a1b2-zstd"']);
  expect(codedTag('W/a1b2', 'zstd')).toBe('W/"a1b2-zstd"');
  for (const tag of tags) expect(ifMatchTags(tag)).toEqual(['a1b2']);
  expect(ifMatchTags('"a1b2-deflate"')).toEqual(['a1b2-deflate']);
});

it.each([
  ['"a1"', 'identity'],
  ['W/"a1-br"', 'br'],
  ['"b2", "a1-zstd" ', 'zstd'],
  [' * ', 'any'],
  ['"a1-deflate"', undefined],
  ['a1', undefined],
  ['"a1', undefined],
  ['"A1"', undefined],
  ['', undefined],
])('If-None-Match of %s names the form %s', (header, form) => {
  for (const tag of ['a1', 'W/a1']) expect(matchingForm(header, tag, all)).toBe(form);
});

it('finds only forms that the client takes now', () => {
  expect(matchingForm('"a1-br", "a1-gzip"', 'a1', (coding) => coding === 'br')).toBe('br');
  expect(matchingForm('"a1-zstd"', 'a1', (coding) => coding === 'gzip')).toBeUndefined();
});

it('takes a tag for itself that ends like a coding', () => {
  expect(matchingForm('"x-br"', 'x-br', all)).toBe('identity');
});

it('reads If-Match: lists, tags with commas, forms in a coding, and no weak tags', () => {
  expect(ifMatchTags(' * ')).toBe('*');
  expect(ifMatchTags('"a1", "b2-gzip" ,W/"c3", d4,,"e,5"')).toEqual(['a1', 'b2', 'e,5']);
  for (const header of ['', 'a1', '"a1', `${'"'.repeat(30_001)},"`]) expect(ifMatchTags(header)).toEqual([]);
});
