import { describe, expect, it } from 'vitest';
import { giveRoomBack, takeRoom } from '../../../src/workers/engine/rooms.js';

describe('rooms for large results', () => {
  it('are used again once they were given back', () => {
    const first = takeRoom(100_000);
    expect(first.byteLength).toBe(100_000);
    giveRoomBack(first);
    const second = takeRoom(131_000);
    expect(second.byteLength).toBe(131_000);
    expect(second.buffer).toBe(first.buffer);
    expect(takeRoom(100_000).buffer).not.toBe(second.buffer);
  });

  it('are given back once: whoever has them by then keeps them', () => {
    const first = takeRoom(200_000);
    giveRoomBack(first);
    giveRoomBack(first);
    const [second, third] = [takeRoom(200_000), takeRoom(200_000)];
    expect(second.buffer).toBe(first.buffer);
    expect(third.buffer).not.toBe(second.buffer);
  });

  it('are no others than those that were lent', () => {
    const strange = new Uint8Array(262_144);
    giveRoomBack(strange);
    expect(takeRoom(262_144).buffer).not.toBe(strange.buffer);
  });

  it('do not lie unused beyond a bound, and are not kept for small results and very large ones', () => {
    const many = Array.from({ length: 20 }, () => takeRoom(4 << 20));
    for (const room of many) giveRoomBack(room);
    const used = new Set(Array.from({ length: 20 }, () => takeRoom(4 << 20).buffer));
    expect(many.filter(({ buffer }) => used.has(buffer)).length).toBeLessThanOrEqual(8);
    for (const length of [1000, 16 << 20]) {
      const one = takeRoom(length);
      expect(one.byteLength).toBe(length);
      giveRoomBack(one);
      expect(takeRoom(length).buffer).not.toBe(one.buffer);
    }
  });
});
