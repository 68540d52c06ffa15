import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import {
  type DataFrame,
  FeatureMirror,
  FeatureStream,
  followEvents,
  type Gap,
} from '../../src/client/index.js';

type ClientMessage = Record<string, unknown>;

const change = (sequence: number, cursor: number, featureId: string, operation = 'insert') => ({
  type: 'feature-change',
  sequence,
  cursor,
  eventId: `e${cursor}`,
  layerId: 3,
  featureId,
  operation,
  geometry: { type: 'Point', coordinates: [1, 2] },
  attributes: { cursor },
  geometryChanged: true,
});
const begin = (sequence: number, cursor: number) => ({
  type: 'snapshot-begin',
  sequence,
  cursor,
  layerIds: [3],
});
const row = (sequence: number, cursor: number, featureId: string) => ({
  type: 'snapshot-feature',
  sequence,
  cursor,
  layerId: 3,
  featureId,
  attributes: { cursor },
});
const end = (sequence: number, cursor: number) => ({
  type: 'snapshot-end',
  sequence,
  cursor,
  featureCount: 1,
  complete: true,
});
const mirrored = (mirror: FeatureMirror) =>
  Object.fromEntries([...mirror.features].map(([key, { properties }]) => [key, properties['cursor']]));

/** A server that plays one script per connection: what it sends to whom subscribes, until it drops the connection. */
class ScriptedServer {
  readonly asked: ClientMessage[] = [];
  /** Sent before anything is asked. */
  atConnect: object | undefined;
  readonly #server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  #connections = 0;

  constructor(private readonly scripts: object[][]) {
    this.#server.on('connection', (socket) => {
      const script = this.scripts[this.#connections++] ?? [];
      socket.send(JSON.stringify({ type: 'status', status: 'connected', cursor: 100 }));
      if (this.atConnect) socket.send(JSON.stringify(this.atConnect));
      socket.on('message', (data) => {
        const frame = JSON.parse(String(data)) as ClientMessage;
        this.asked.push(frame);
        if (frame['type'] !== 'subscribe') return;
        const { subscriptionId, cursor = 100 } = frame;
        socket.send(JSON.stringify({ type: 'status', status: 'subscribed', subscriptionId, cursor }));
        for (const sent of script)
          if ('drop' in sent) socket.terminate();
          else socket.send(JSON.stringify({ subscriptionId, ...sent }));
      });
    });
  }

  async listening(): Promise<this> {
    if (!this.#server.address()) await once(this.#server, 'listening');
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/stream`;
  }

  stop(): void {
    for (const socket of this.#server.clients) socket.terminate();
    this.#server.close();
  }
}

const DROP = { drop: true };
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const clean of cleanups.splice(0)) clean();
});

async function follow(scripts: object[][], interest: ClientMessage) {
  const server = await new ScriptedServer(scripts).listening();
  const stream = new FeatureStream(server.url, {
    open: (url) => new WebSocket(url),
    firstMs: 1,
    longestMs: 5,
  });
  cleanups.push(
    () => stream.close(),
    () => server.stop(),
  );
  const frames: DataFrame[] = [];
  const gaps: Gap[] = [];
  const duplicates: DataFrame[] = [];
  const mirror = new FeatureMirror();
  const history: object[] = [];
  const errors: string[] = [];
  const subscription = stream.subscribe(interest, {
    onFrame: (frame) => {
      frames.push(frame);
      mirror.apply(frame);
      history.push(mirrored(mirror));
    },
    onGap: (gap) => gaps.push(gap),
    onDuplicate: (frame) => duplicates.push(frame),
    onError: ({ code }) => errors.push(code),
  });
  const asked = (n: number) => vi.waitFor(() => expect(server.asked.length).toBeGreaterThanOrEqual(n));
  return { server, stream, subscription, frames, gaps, duplicates, mirror, history, errors, asked };
}

describe('FeatureStream', () => {
  it('goes on after the last change when the connection breaks, and leaves out what comes again', async () => {
    const { server, frames, duplicates, mirror, asked } = await follow(
      [
        [change(0, 101, 'a'), change(1, 102, 'b'), DROP],
        [change(0, 102, 'b'), change(1, 103, 'a', 'delete')],
      ],
      { layers: [3] },
    );
    await vi.waitFor(() => expect(frames).toHaveLength(3));
    await asked(2);
    expect(server.asked.map(({ cursor }) => cursor)).toEqual([undefined, 102]);
    expect(duplicates.map(({ cursor }) => cursor)).toEqual([102]);
    expect(mirrored(mirror)).toEqual({ '3/b': 102 });
  });

  it('goes on after the cursor of its beginning when it was told nothing yet', async () => {
    const { server, asked } = await follow([[DROP], []], { layers: [3] });
    await asked(2);
    expect(server.asked[1]!['cursor']).toBe(100);
  });

  it('goes on after what a heartbeat says has passed, but not before it is told again', async () => {
    const heartbeat = (cursor: number) => ({ type: 'heartbeat', cursor });
    const { server, frames, asked } = await follow(
      [[change(0, 101, 'a'), heartbeat(500), DROP], [change(0, 501, 'b')]],
      { layers: [3] },
    );
    await vi.waitFor(() => expect(frames).toHaveLength(2));
    await asked(2);
    expect(server.asked.map(({ cursor }) => cursor)).toEqual([undefined, 500]);

    const early = await follow([[DROP], [change(0, 102, 'a')]], { layers: [3] });
    early.server.atConnect = heartbeat(900);
    await vi.waitFor(() => expect(early.frames).toHaveLength(1));
    expect(early.server.asked.map(({ cursor }) => cursor)).toEqual([undefined, 100]);
  });

  it('begins a snapshot again that was cut off, and keeps the old features until the new one ends', async () => {
    const { server, mirror, history, asked } = await follow(
      [
        [begin(0, 100), row(1, 100, 'a'), end(2, 100), DROP],
        [
          { type: 'gap', sequence: 0, cursor: 150, reason: 'cursor-expired' },
          begin(1, 200),
          row(2, 200, 'b'),
          DROP,
        ],
        [begin(0, 300), row(1, 300, 'c'), end(2, 300)],
      ],
      { layers: [3], mode: 'snapshot-then-delta' },
    );
    await asked(3);
    await vi.waitFor(() => expect(mirrored(mirror)).toEqual({ '3/c': 300 }));
    expect(history.slice(2, -1)).toEqual(history.slice(2, -1).map(() => ({ '3/a': 100 })));
    expect(history.length).toBe(9);
    expect(server.asked.map(({ cursor }) => cursor)).toEqual([undefined, 100, undefined]);
    expect(mirror.stale).toBe(false);
  });

  it('tells gaps, and goes on after them', async () => {
    const { server, gaps, mirror, asked } = await follow(
      [[{ type: 'gap', sequence: 0, cursor: 50, reason: 'cursor-invalid' }, change(1, 51, 'a'), DROP], []],
      { layers: [3], cursor: 7 },
    );
    await asked(2);
    expect(gaps).toMatchObject([{ reason: 'cursor-invalid' }]);
    expect(server.asked.map(({ cursor }) => cursor)).toEqual([7, 51]);
    expect(mirrored(mirror)).toEqual({ '3/a': 51 });
    expect(mirror.stale).toBe(true);
  });

  it('connects again when frames are missing', async () => {
    const { server, frames, asked } = await follow([[change(0, 101, 'a'), change(2, 103, 'b')], []], {
      layers: [3],
    });
    await asked(2);
    expect(server.asked[1]!['cursor']).toBe(101);
    expect(frames).toHaveLength(1);
  });

  it('connects again when nothing comes any more', async () => {
    const server = await new ScriptedServer([[], []]).listening();
    const options = { open: (url: string) => new WebSocket(url), firstMs: 1, silenceMs: 20 };
    const stream = new FeatureStream(server.url, options);
    cleanups.push(
      () => stream.close(),
      () => server.stop(),
    );
    stream.subscribe({ layers: [3] }, { onFrame() {} });
    await vi.waitFor(() => expect(server.asked.length).toBeGreaterThan(1));
  });

  it('does not ask again for what was refused or given up', async () => {
    const refusal = { type: 'error', code: 'invalid-subscription', message: 'no' };
    const { server, stream, subscription, errors } = await follow([[refusal]], { layers: [9] });
    await vi.waitFor(() => expect(errors).toEqual(['invalid-subscription']));
    const other = stream.subscribe({ layers: [3] }, { onFrame() {} });
    other.unsubscribe();
    subscription.unsubscribe();
    await vi.waitFor(() =>
      expect(server.asked.map(({ type }) => type)).toEqual(['subscribe', 'subscribe', 'unsubscribe']),
    );
  });

  it('is closed for ever', async () => {
    const { stream, asked, server } = await follow([[DROP]], { layers: [3] });
    await asked(1);
    stream.close();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(stream.state).toBe('closed');
    expect(server.asked.length).toBeLessThanOrEqual(2);
  });
});

describe('followEvents', () => {
  it('follows server-sent events, and goes on after the last one', async () => {
    const targets: URL[] = [];
    const server = createServer((request, response) => {
      const target = new URL(request.url!, 'http://x');
      targets.push(target);
      const cursor = Number(target.searchParams.get('cursor') ?? 100);
      response.setHeader('content-type', 'text/event-stream');
      const send = (frame: object) =>
        response.write(`event: x\ndata: ${JSON.stringify({ subscriptionId: 'default', ...frame })}\n\n`);
      send({ type: 'status', status: 'subscribed', cursor });
      send(change(0, cursor + 1, `f${cursor + 1}`));
      if (targets.length < 3) response.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const mirror = new FeatureMirror();
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const interest = {
      layers: [3],
      bbox: [0, 0, 9, 9] as const,
      filter: { op: 'x' },
      filterLang: 'cql2-json' as const,
    };
    const stop = followEvents(url, interest, { onFrame: (frame) => mirror.apply(frame) }, { firstMs: 1 });
    cleanups.push(
      stop,
      () => server.close(),
      () => server.closeAllConnections(),
    );
    await vi.waitFor(() => expect(mirrored(mirror)).toEqual({ '3/f101': 101, '3/f102': 102, '3/f103': 103 }));
    expect(Object.fromEntries(targets[1]!.searchParams)).toEqual({
      layers: '3',
      bbox: '0,0,9,9',
      filter: '{"op":"x"}',
      'filter-lang': 'cql2-json',
      cursor: '101',
    });
  });

  it('ends when the server refuses', async () => {
    const server = createServer((_, response) => response.writeHead(400).end('layers')).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    cleanups.push(() => server.close());
    const states: string[] = [];
    const errors: string[] = [];
    followEvents(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      {},
      { onFrame() {}, onError: ({ code }) => errors.push(code) },
      { onState: (state) => states.push(state) },
    );
    await vi.waitFor(() => expect(states).toEqual(['connecting', 'closed']));
    expect(errors).toEqual(['400']);
  });
});
