import { describe, expect, it } from 'vitest';
import { Backlog } from '../../../src/gateway/http/backlog.js';

function sending(bytes: number, cut: string[], name: string) {
  return { bytes, cut: () => cut.push(name) };
}

describe('the backlog of large answers', () => {
  it('cuts the one that stalled the longest when all together exceed the limit', () => {
    const cut: string[] = [];
    const backlog = new Backlog(100);
    const [a, b, c] = ['a', 'b', 'c'].map((name) => sending(40, cut, name)) as [
      ReturnType<typeof sending>,
      ReturnType<typeof sending>,
      ReturnType<typeof sending>,
    ];
    backlog.add(a);
    backlog.add(b);
    backlog.progressed(a);
    backlog.add(c);
    expect(cut).toEqual(['b']);
    expect(backlog.bytes).toBe(80);
  });

  it('lets a single answer exceed the limit, until another one comes', () => {
    const cut: string[] = [];
    const backlog = new Backlog(100);
    backlog.add(sending(500, cut, 'large'));
    expect(cut).toEqual([]);
    backlog.add(sending(10, cut, 'small'));
    expect(cut).toEqual(['large']);
    expect(backlog.bytes).toBe(10);
  });

  it('forgets what was sent, once', () => {
    const backlog = new Backlog(100);
    const one = sending(60, [], 'one');
    backlog.add(one);
    backlog.remove(one);
    backlog.remove(one);
    backlog.progressed(one);
    expect(backlog.bytes).toBe(0);
  });
});
