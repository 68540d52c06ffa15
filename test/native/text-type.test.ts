import { expect, it } from 'vitest';
import { openDatabase } from './support.js';

/** What the texts of a column are, when nothing may be lost by it. */

const db = openDatabase();
const typeOf = (...texts: (string | null)[]) =>
  db.prepare('SELECT gr_text_type(value) FROM json_each(?)').pluck().get(JSON.stringify(texts));

it.each([
  ['integer', ['0', '1', '-5', '123456789012345']],
  ['integer', ['', '7', null]],
  ['number', ['1', '2.5']],
  ['number', ['-0.25', '.5', '1.5e-7', '2.0E+300']],
  ['boolean', ['true', 'FALSE', '']],
  ['date', ['2024-02-29', '1999-12-31']],
  [
    'date-time',
    ['2024-02-29T10:15', '2024-02-29 10:15:30', '2024-02-29T10:15:30.123Z', '2024-02-29T10:15:00+01:00'],
  ],
  ['text', ['007', '8']],
  ['text', ['00', '1']],
  ['text', ['+4412345']],
  ['text', ['1234567890123456']],
  ['text', ['0.1234567890123456']],
  ['text', ['1E5', '2E5']],
  ['text', ['1.5e999']],
  ['text', ['1.', '2.']],
  ['text', ['-']],
  ['text', ['1', 'x']],
  ['text', ['1', 'true']],
  ['text', ['2024-02-30']],
  ['text', ['2023-02-29']],
  ['text', ['2024-02-29', '2024-02-29T10:15:30Z']],
  ['text', ['2024-02-29T10:15:30.1234Z']],
  ['text', ['2024-02-29T25:00:00Z']],
  ['text', ['NaN', 'inf', '0x10']],
  ['text', [' 1']],
  ['text', ['1,5']],
])('%s: %j', (type, texts) => {
  expect(typeOf(...texts)).toBe(type);
});

it('nothing, of empty texts alone', () => {
  expect(typeOf()).toBeNull();
  expect(typeOf('', null)).toBeNull();
});

it('by groups', () => {
  const rows = db
    .prepare(
      `SELECT gr_text_type(v) FROM (SELECT 'a' g, '1' v UNION ALL SELECT 'b', '01') GROUP BY g ORDER BY g`,
    )
    .pluck()
    .all();
  expect(rows).toEqual(['integer', 'text']);
});
