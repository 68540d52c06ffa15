import { expect, it } from 'vitest';
import { turn } from '../../../src/gateway/http/turns.js';

it('gives everybody who waits a turn of the event loop of their own, in order', async () => {
  let loop = 0;
  let over = false;
  const count = () => {
    loop += 1;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  const at: [name: string, loop: number][] = [];
  await Promise.all(['a', 'b', 'c'].map((name) => turn().then(() => at.push([name, loop]))));
  await turn().then(() => at.push(['d', loop]));
  over = true;
  expect(at.map(([name]) => name)).toEqual(['a', 'b', 'c', 'd']);
  expect(new Set(at.map(([, turnOfLoop]) => turnOfLoop)).size).toBe(4);
});
