import { expect, it } from 'vitest';
import { RequestBody } from '../../src/gateway/http/requests/body.js';
import type { HttpResponse } from '../../src/gateway/http/uws.js';

/** A socket that says what it was told, and delivers what a test gives it. */
function socket() {
  const calls: string[] = [];
  let deliver: (chunk: ArrayBuffer, isLast: boolean) => void = () => {};
  const res = {
    onData: (handler: typeof deliver) => {
      deliver = handler;
    },
    pause: () => calls.push('pause'),
    resume: () => calls.push('resume'),
  };
  const body = new RequestBody(res as unknown as HttpResponse);
  return { body, calls, take: (bytes: number, isLast = false) => deliver(new ArrayBuffer(bytes), isLast) };
}

it('pauses the socket while nobody reads, and lets it go on when the reader catches up', async () => {
  const { body, calls, take } = socket();
  take(1 << 20);
  expect(calls).toEqual([]);
  take(1 << 20);
  take(1 << 20);
  expect(calls).toEqual(['pause']);
  const parts = body[Symbol.asyncIterator]();
  await parts.next();
  await parts.next();
  expect(calls).toEqual(['pause']);
  await parts.next();
  expect(calls).toEqual(['pause', 'resume']);
});

it('leaves no socket paused once the body has ended, read or not', () => {
  const { calls, take } = socket();
  take(2 << 20);
  take(1 << 20);
  take(10, true);
  expect(calls).toEqual(['pause', 'resume']);
});
