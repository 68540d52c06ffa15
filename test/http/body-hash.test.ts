import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { bodyHash } from '../../src/gateway/http/requests/body-hash.js';

interface Part {
  name: string;
  content: string;
  file?: string;
}

function hashOf(
  parts: readonly Part[],
  { boundary = 'one', step = 1 << 20, end = '--\r\n', quote = '' } = {},
): string {
  const text = parts
    .map(({ name, content, file }) => {
      const fileName = file === undefined ? '' : `; filename="${file}"`;
      return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${fileName}\r\n\r\n${content}\r\n`;
    })
    .join('');
  const hash = bodyHash(`multipart/form-data; boundary=${quote}${boundary}${quote}`);
  const bytes = Buffer.from(`${text}--${boundary}${end}`);
  for (let at = 0; at < bytes.length; at += step) hash.update(bytes.subarray(at, at + step));
  return hash.digest();
}

const FORM: Part[] = [
  { name: 'tableName', content: 'towns' },
  { name: 'empty', content: '' },
  { name: 'file', content: 'id,lon\r\n--1,7\r\n', file: 'towns.csv' },
];
const hash = hashOf(FORM);

describe('the hash of a multipart form', () => {
  it.each([1, 2, 3, 7, 40])('is the same with another boundary, in pieces of %i bytes', (step) => {
    expect(hashOf(FORM, { boundary: '----WebKitFormBoundaryX7', step })).toBe(hash);
    expect(hashOf(FORM, { boundary: "a b'(c)", step, quote: '"' })).toBe(hash);
  });

  it('is the same in another order, and with another file name', () => {
    expect(hashOf([...FORM].reverse())).toBe(hash);
    expect(hashOf(FORM.map((part) => (part.file ? { ...part, file: 'upload-2.csv' } : part)))).toBe(hash);
  });

  it.each<[what: string, parts: Part[]]>([
    ['a value', [{ name: 'tableName', content: 'cities' }, ...FORM.slice(1)]],
    ['a name', [{ name: 'table', content: 'towns' }, ...FORM.slice(1)]],
    ['a byte of a file', [...FORM.slice(0, 2), { ...FORM[2]!, content: 'id,lon\r\n--1,8\r\n' }]],
    ['the number of parts', [...FORM, { name: 'x', content: '' }]],
    [
      'what is in which part',
      [{ name: 'tableName', content: '' }, { name: 'empty', content: 'towns' }, FORM[2]!],
    ],
  ])('is another for another form: %s', (_what, parts) => {
    expect(hashOf(parts)).not.toBe(hash);
  });

  it('is none of a form that is cut off', () => {
    expect(hashOf(FORM, { end: '' })).not.toBe(hash);
  });
});

it('is that of the bytes for other bodies', () => {
  const bytes = Buffer.from('{"a":1}');
  const plain = bodyHash('application/json');
  plain.update(bytes.subarray(0, 3));
  plain.update(bytes.subarray(3));
  for (let i = 0; i < 2; i++)
    expect(plain.digest()).toBe(createHash('sha256').update(bytes).digest('base64url'));
  const unbound = bodyHash('multipart/form-data');
  unbound.update(bytes);
  expect(unbound.digest()).toBe(plain.digest());
});
