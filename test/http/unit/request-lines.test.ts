import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { countRequest, requestId, requestIdBytes } from '../../../src/gateway/http/requests/request-id.js';
import { LineWriter } from '../../../src/services/telemetry/line-writer.js';
import type { RequestEvent, RequestKind } from '../../../src/services/telemetry/log.js';
import { RequestLines } from '../../../src/services/telemetry/request-lines.js';

const KIND: RequestKind = { method: 'GET', status: 200, protocol: 'OGC-Tiles', operation: 'x', quiet: false };
const GONE: RequestKind = { ...KIND, status: 404 };
const membersOf = ({ status }: RequestKind) => `"StatusCode":${status}`;
const bytes = (text: string) => Uint8Array.from(Buffer.from(text));

function event(path: string, id: string, more: Partial<RequestEvent> = {}): RequestEvent {
  return {
    path,
    plainPath: true,
    correlationId: id,
    correlationBytes: bytes(id),
    principal: { id: 'anonymous' },
    trace: undefined,
    ...more,
  };
}

describe('lines of the log about requests', () => {
  let folder: string;
  let file: number;
  let writer: LineWriter;
  let lines: RequestLines;
  const written = async (count: number) => {
    writer.flush();
    const texts = () => readFileSync(join(folder, 'log'), 'utf8').split('\n').slice(0, -1);
    await vi.waitFor(() => expect(texts()).toHaveLength(count), 5000);
    return texts().map((line) => JSON.parse(line));
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'graticule-lines-'));
    file = openSync(join(folder, 'log'), 'w');
    writer = new LineWriter(file);
    lines = new RequestLines(writer, membersOf);
  });

  afterEach(() => {
    closeSync(file);
    rmSync(folder, { recursive: true });
  });

  it('have every number as it was, and the members of their kind', async () => {
    const at = performance.now();
    const numbers = [
      [0, 0],
      [0.004, 9],
      [0.005, 10],
      [0.99, 99],
      [9.999, 100],
      [12.34, 2_147_483_647],
      [123_456.789, 5_000_000_000],
    ] as const;
    for (const [ms, size] of numbers) expect(lines.write(KIND, event('/a', 'id-1'), at, ms, size)).toBe(true);
    expect(lines.write(GONE, event('/b', 'longer-id-2'), at, 1, 1)).toBe(true);
    expect(lines.write(KIND, event('/c', 'id-3'), at, 1, 1)).toBe(true);
    const all = await written(numbers.length + 2);
    expect(all.slice(0, -2).map((line) => [line.DurationMs, line.Bytes])).toEqual(
      numbers.map(([ms, size]) => [Math.round(ms * 100) / 100, size]),
    );
    expect(all.slice(-3).map((l) => [l.StatusCode, l.Path, l.CorrelationId, l.Principal])).toEqual([
      [200, '/a', 'id-1', 'anonymous'],
      [404, '/b', 'longer-id-2', 'anonymous'],
      [200, '/c', 'id-3', 'anonymous'],
    ]);
  });

  it('carry the time, counted on by the clock of the answers until the next second', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      const at = 5000;
      vi.setSystemTime('2026-01-31T23:59:58.990Z');
      for (const [i, later] of [0, 7, 9.9].entries())
        lines.write(i % 2 ? GONE : KIND, event('/a', 'id'), at + later, 1, 1);
      vi.setSystemTime('2026-01-31T23:59:59.005Z');
      lines.write(KIND, event('/a', 'id'), at + 15, 1, 1);
      lines.write(GONE, event('/a', 'id'), at + 515, 1, 1);
      vi.setSystemTime('2026-02-01T00:00:00.000Z');
      lines.setClock();
      lines.write(GONE, event('/a', 'id'), at + 900, 1, 1);
      expect((await written(6)).map((line) => line['@t'])).toEqual([
        '2026-01-31T23:59:58.990Z',
        '2026-01-31T23:59:58.997Z',
        '2026-01-31T23:59:58.999Z',
        '2026-01-31T23:59:59.005Z',
        '2026-01-31T23:59:59.505Z',
        '2026-02-01T00:00:00.000Z',
      ]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('are left to others when they hold more than that', async () => {
    const at = performance.now();
    const left = [
      event('/a"b', 'id', { plainPath: false }),
      event('/a', 'id', { correlationBytes: undefined }),
      event('/a', 'id', { principal: { id: 'key-1' } }),
      event('/a', 'id', { trace: { traceId: '1', spanId: '2' } }),
      event(`/${'a'.repeat(70_000)}`, 'id'),
    ];
    for (const one of left) expect(lines.write(KIND, one, at, 1, 1)).toBe(false);
    expect(await written(0)).toEqual([]);
  });

  it('go on in the next block when one is full', async () => {
    const at = performance.now();
    const path = `/${'a'.repeat(1000)}`;
    for (let i = 0; i < 200; i++) lines.write(KIND, event(path, 'id'), at, 1, i);
    expect((await written(200)).map((line) => line.Bytes)).toEqual(Array.from({ length: 200 }, (_, i) => i));
  });
});

describe('the writer of the log', () => {
  it('has written everything when flushSync returns', () => {
    const folder = mkdtempSync(join(tmpdir(), 'graticule-lines-'));
    const file = openSync(join(folder, 'log'), 'w');
    const writer = new LineWriter(file);
    writer.writeAscii('one\n');
    writer.write('zwölf\n');
    writer.flushSync();
    expect(readFileSync(join(folder, 'log'), 'utf8')).toBe('one\nzwölf\n');
    closeSync(file);
    rmSync(folder, { recursive: true });
  });
});

describe('ids of requests', () => {
  it('are counted on as bytes as they are as texts', () => {
    const seen = new Set<string>();
    for (let i = 0; i < 100_000; i++) {
      const request = countRequest();
      const id = requestId(request);
      if (Buffer.from(requestIdBytes(request)).toString() !== id) throw new Error(`bytes differ from ${id}`);
      seen.add(id);
    }
    expect(seen.size).toBe(100_000);
  });

  it('are the same bytes when other requests have come meanwhile', () => {
    const requests = Array.from({ length: 5000 }, () => countRequest());
    for (const request of requests)
      expect(Buffer.from(requestIdBytes(request)).toString()).toBe(requestId(request));
  });
});
