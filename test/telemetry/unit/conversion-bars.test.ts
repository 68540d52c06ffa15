import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { conversionBars } from '../../../src/gateway/start/conversion-bars.js';

/** A terminal that keeps what was written to it. */
function terminal() {
  const stream = new PassThrough();
  let written = '';
  stream.on('data', (chunk) => (written += chunk));
  Object.assign(stream, { isTTY: true, columns: 120 });
  return { stream: stream as unknown as NodeJS.WriteStream, written: () => written };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('a conversion that takes long is shown, with its file and the time left', async () => {
  const { stream, written } = terminal();
  const bars = await conversionBars(stream);
  bars.tell('/data/roads.shp', 0);
  vi.advanceTimersByTime(1000);
  bars.tell('/data/roads.shp', 0.25);
  vi.advanceTimersByTime(1000);
  bars.tell('/data/roads.shp', 0.5);
  vi.advanceTimersByTime(200);
  expect(written()).toMatch(/converting roads\.shp .* 50 %, \S+ left/);
  bars.tell('/data/roads.shp', 1);
  bars.end();
});

it('a short one is not', async () => {
  const { stream, written } = terminal();
  const bars = await conversionBars(stream);
  bars.tell('/data/roads.shp', 0);
  vi.advanceTimersByTime(100);
  bars.tell('/data/roads.shp', 0.9);
  bars.tell('/data/roads.shp', 1);
  vi.advanceTimersByTime(5000);
  bars.end();
  expect(written()).toBe('');
});
