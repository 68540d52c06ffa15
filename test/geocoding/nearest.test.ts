import { describe, expect, it } from 'vitest';
import { nearestWithin } from '../../src/services/geocoding/nearest.js';

/** The nearest of many, where a window shows no more than its first ones. */

const MOST = 300;

/** Looks at places by their metres, in the order of a table and not in that of the metres. */
function nearest(metres: readonly number[], distance: number) {
  let looks = 0;
  const answer = nearestWithin(distance, async (reach) => {
    looks++;
    // A window reaches farther than its distance, in its corners.
    const window = metres.filter((one) => one <= reach * 1.4);
    const least = Math.min(...window.slice(0, MOST));
    return {
      nearest: window.length > 0 ? { metres: least } : undefined,
      more: window.length > MOST,
    };
  });
  return answer.then((one) => ({ metres: one?.metres, looks }));
}

describe('the nearest', () => {
  it('is found among thousands that come before it', async () => {
    for (const own of [0, 0.5, 42, 260, 9000, 99_999]) {
      const metres = [...Array.from({ length: 5000 }, (_, i) => own + 1 + i / 100), own];
      const answer = await nearest(metres, 100_000);
      expect(answer.metres).toBe(own);
      expect(answer.looks).toBeLessThan(30);
    }
  });

  it('is any of those in one place', async () => {
    expect((await nearest(new Array(1000).fill(180), 10_000)).metres).toBe(180);
    expect((await nearest(new Array(1000).fill(0), 0)).metres).toBe(0);
  });

  it('lies within the distance', async () => {
    expect(await nearest([120], 100)).toEqual({ metres: undefined, looks: 1 });
    expect((await nearest(new Array(1000).fill(120), 100)).metres).toBeUndefined();
    expect((await nearest([], 100_000)).metres).toBeUndefined();
  });
});
