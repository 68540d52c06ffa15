import { PbfReader } from 'pbf';
import { describe, expect, it } from 'vitest';
import { inPageForm } from '../../../src/workers/features/page-forms.js';

/** Pages that worker threads write, so that the event loop only joins them. */

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();

describe('ids of a page', () => {
  const records = Buffer.from('1,\r\n-2,\r\n9007199254740993,\r\n');

  it('are separated by commas', () => {
    expect(text(inPageForm(records, { kind: 'ids' }))).toBe('1,-2,9007199254740993');
    expect(inPageForm(Buffer.from(''), { kind: 'packed-ids' })).toHaveLength(0);
  });

  it('are varints with all digits', () => {
    const bytes = inPageForm(records, { kind: 'packed-ids' });
    const head = Buffer.from([0x1a, bytes.length]);
    const reader = new PbfReader(Buffer.concat([head, bytes]));
    const ids: number[] = [];
    reader.readFields((tag) => {
      if (tag === 3) reader.readPackedVarint(ids, true);
    }, undefined);
    expect(ids.slice(0, 2)).toEqual([1, -2]);
    expect(Buffer.from(bytes.subarray(-8)).toString('hex')).toBe('8180808080808010');
  });
});

it('rows of a table escape what data says, and number from 0', () => {
  const columns = [
    { name: 'name', isNumber: false },
    { name: 'big', isNumber: true },
    { name: 'gone', isNumber: false },
  ];
  const features = [
    { type: 'Feature', id: 'a/b', geometry: null, properties: { name: '<b>"x"</b>', big: 1 } },
    { type: 'Feature', id: 2, geometry: null, properties: null },
  ];
  const page = Buffer.from(
    features.map((one) => JSON.stringify(one).replace('"big":1', '"big":9007199254740993')).join(','),
  );
  const rows = text(inPageForm(page, { kind: 'rows', columns, itemsHref: 'https://x.test/items' }));
  expect(rows.split('\n')).toEqual([
    '<tr data-row="0"><th scope="row"><a href="https://x.test/items/a%2Fb"><bdi>a/b</bdi></a></th><td><bdi>&lt;b&gt;&quot;x&quot;&lt;/b&gt;</bdi></td><td class="num">9007199254740993</td><td><span class="none">–</span></td></tr>',
    expect.stringContaining('<tr data-row="1">'),
    '',
  ]);
});
