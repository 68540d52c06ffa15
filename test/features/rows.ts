import type { Cell, Column } from '../cql2/stores.js';
import { randomSource } from '../native/support.js';

/** Rows that have something of everything: NULLs, empty texts, quotes, Unicode, ties, points and polygons. */

export const COLUMNS: Column[] = [
  { name: 'name', type: 'string' },
  { name: 'count', type: 'integer' },
  { name: 'height', type: 'number' },
  { name: 'open', type: 'boolean' },
  { name: 'day', type: 'date' },
  { name: 'seen', type: 'date-time' },
  { name: 'data', type: 'json' },
];

export const ROWS = 300;

const NAMES = ['Ålesund', 'a "quoted", name', "O'Hara", '', 'line\nbreak', '<tag> & more', '漢字', 'plain'];

export function rows(): Cell[][] {
  const random = randomSource(11);
  const some = <T>(value: T): T | null => (random() < 0.15 ? null : value);
  return Array.from({ length: ROWS }, (_, i) => {
    const x = -179 + 358 * random();
    const y = -80 + 160 * random();
    const day = new Date(Date.UTC(2020, 0, 1 + Math.floor(random() * 365)));
    return [
      i % 10 === 9 ? null : i % 2 === 0 ? point(x, y) : square(x, y, 0.5),
      some(NAMES[i % NAMES.length]!),
      some(Math.floor(random() * 5)),
      some(Math.round(random() * 1000) / 8),
      some(random() < 0.5),
      some(day.toISOString().slice(0, 10)),
      some(day.toISOString()),
      some(JSON.stringify({ tags: ['a', i % 3] })),
    ];
  });
}

function point(x: number, y: number): Buffer {
  const wkb = Buffer.alloc(21);
  wkb.writeUInt8(1, 0);
  wkb.writeUInt32LE(1, 1);
  wkb.writeDoubleLE(x, 5);
  wkb.writeDoubleLE(y, 13);
  return wkb;
}

function square(x: number, y: number, side: number): Buffer {
  const ring = [x, y, x + side, y, x + side, y + side, x, y + side, x, y];
  const wkb = Buffer.alloc(13 + ring.length * 8);
  wkb.writeUInt8(1, 0);
  wkb.writeUInt32LE(3, 1);
  wkb.writeUInt32LE(1, 5);
  wkb.writeUInt32LE(ring.length / 2, 9);
  for (const [i, value] of ring.entries()) wkb.writeDoubleLE(value, 13 + i * 8);
  return wkb;
}
