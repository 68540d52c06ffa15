import { expect, it } from 'vitest';
import { Recent } from '../../src/core/recent.js';

it('forgets the oldest entries beyond its bound, and no others', () => {
  const recent = new Recent<number, string>(3);
  for (let i = 0; i < 5; i++) recent.set(i, `${i}`);
  expect([0, 1, 2, 3, 4].map((i) => recent.get(i))).toEqual([undefined, undefined, '2', '3', '4']);
  recent.set(3, 'again');
  expect([2, 3, 4].map((i) => recent.get(i))).toEqual(['2', 'again', '4']);
});
