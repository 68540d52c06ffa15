import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Writable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import type { CatalogSnapshot, VectorCollection } from '../../../src/core/catalog/collection.js';
import type { FeatureEvent } from '../../../src/core/edits/edits.js';
import { ANONYMOUS } from '../../../src/core/http/operation.js';
import { EPOCH_SIZE, type FeedEntry } from '../../../src/core/streams/events.js';
import type { Pools } from '../../../src/core/tasks/tasks.js';
import { Feed } from '../../../src/services/streams/feed.js';
import { Hub, type HubDeps, type Wish } from '../../../src/services/streams/hub.js';
import type { Session } from '../../../src/services/streams/session.js';
import { hasEnded, instanceName } from '../../../src/stores/database/instance.js';
import type { Frame } from '../support.js';

const START = 5 * EPOCH_SIZE;
const event = (n: number): FeedEntry => ({
  kind: 'event',
  cursor: START + n,
  event: {
    eventId: `e${n}`,
    layerId: 1,
    featureId: `f${n}`,
    operation: 'insert',
    changedAttributes: [],
    geometryChanged: false,
  } as unknown as FeatureEvent,
});
const gap = (n: number): FeedEntry => ({
  kind: 'gap',
  cursor: START + n,
  collections: ['spots'],
  time: '2026-01-01T00:00:00.000Z',
});

/** A log in memory that can be trimmed between the question and the answer. */
class Log {
  entries: FeedEntry[] = [];
  beforeReading = (): void => undefined;

  constructor(last: number) {
    this.entries = Array.from({ length: last }, (_, i) => event(i + 1));
  }

  async after(cursor: number, limit: number): Promise<FeedEntry[]> {
    this.beforeReading();
    return this.entries.filter((entry) => entry.cursor > cursor).slice(0, limit);
  }

  async bounds() {
    return { oldest: this.entries[0]!.cursor, newest: this.entries.at(-1)!.cursor };
  }

  trim(first: number): void {
    this.entries = this.entries.filter(({ cursor }) => cursor >= START + first);
  }
}

const spots = {
  kind: 'vector',
  id: 'spots',
  layerId: 1,
  source: { fields: [] },
} as unknown as VectorCollection;
const visible = () =>
  ({ collections: [spots], byId: () => spots, byLayerId: () => spots }) as unknown as CatalogSnapshot;
const page = { features: new Uint8Array(), more: false };
const pools = { run: async () => page } as unknown as Pools;

/** A hub over the log with one client, which reads as long as `reads` says so. */
async function connected(log: Log, wish: Partial<Wish>) {
  const feed = await Feed.open(log);
  const deps: Partial<HubDeps> = { feed, pools, visible, sessions: { total: 9, perAddress: 9, perKey: 9 } };
  const hub = new Hub(deps as HubDeps);
  const client = { frames: [] as Frame[], reads: true };
  const transport = {
    name: 'WebSocket' as const,
    send(frame: string) {
      client.frames.push(JSON.parse(frame));
      return client.reads;
    },
    together: (send: () => void) => send(),
    close() {},
  };
  const interest = { layers: [1], bbox: undefined, filter: undefined, datetime: undefined };
  const begin = (one: Session) =>
    hub.subscribe(one, { id: 's', interest, mode: 'delta', cursor: undefined, ...wish });
  const session = hub.open(transport, { principal: ANONYMOUS, address: '' }, undefined, begin)!;
  const told = () =>
    client.frames
      .filter(({ type }) => type !== 'status')
      .map(
        ({ type, cursor, reason }) => `${type} ${(cursor as number) - START}${reason ? ` ${reason}` : ''}`,
      );
  return { feed, hub, client, session, told };
}

describe('a subscriber', () => {
  it('is told a gap when entries are trimmed while they are read', async () => {
    const log = new Log(8);
    log.beforeReading = () => log.trim(6);
    const { hub, told } = await connected(log, { cursor: START + 2 });
    await vi.waitFor(() => expect(told()).toHaveLength(4));
    expect(told()).toEqual([
      'gap 5 cursor-expired',
      'feature-change 6',
      'feature-change 7',
      'feature-change 8',
    ]);
    hub.close();
  });

  it('gets a snapshot for it when it asked for them', async () => {
    const log = new Log(8);
    log.beforeReading = () => log.trim(6);
    const { hub, told } = await connected(log, { cursor: START + 2, mode: 'snapshot-then-delta' });
    await vi.waitFor(() => expect(told()).toHaveLength(3));
    expect(told()).toEqual(['gap 5 cursor-expired', 'snapshot-begin 8 cursor-expired', 'snapshot-end 8']);
    hub.close();
  });

  it('goes on after a cursor that another process told, before this one has read it', async () => {
    const log = new Log(4);
    const { hub, feed, told } = await connected(log, {});
    log.entries.push(event(5), event(6));
    const later = await connectedTo(hub, START + 5);
    expect(feed.head).toBe(START + 6);
    await vi.waitFor(() => expect(told()).toEqual(['feature-change 5', 'feature-change 6']));
    expect(later()).not.toContainEqual(expect.stringContaining('gap'));
    hub.close();
  });

  it('hears of lost events after the changes before them, which it has not read yet', async () => {
    const { hub, feed, client, session, told } = await connected(new Log(1), {});
    await vi.waitFor(() => expect(session.subscriptions.get('s')!.live).toBe(true));
    client.reads = false;
    feed.accept([event(2), event(3)]);
    await vi.waitFor(() => expect(told()).toHaveLength(1));
    feed.accept([gap(4), event(5)]);
    await new Promise((resolve) => setImmediate(resolve));
    client.reads = true;
    session.drained();
    await vi.waitFor(() => expect(told()).toHaveLength(4));
    expect(told()).toEqual(['feature-change 2', 'feature-change 3', 'gap 4 events-lost', 'feature-change 5']);
    hub.close();
  });

  it('hears of the changes that follow lost events in one batch', async () => {
    const { hub, feed, session, told } = await connected(new Log(1), {});
    await vi.waitFor(() => expect(session.subscriptions.get('s')!.live).toBe(true));
    feed.accept([event(2), gap(3), event(4), gap(5), event(6)]);
    await vi.waitFor(() => expect(told().at(-1)).toBe('feature-change 6'));
    feed.accept([event(7)]);
    await vi.waitFor(() => expect(told().at(-1)).toBe('feature-change 7'));
    expect(told()).toEqual([
      ...['feature-change 2', 'gap 3 events-lost', 'feature-change 4', 'gap 5 events-lost'],
      ...['feature-change 6', 'feature-change 7'],
    ]);
    hub.close();
  });

  it('is not told after a new snapshot what that holds', async () => {
    const { hub, feed, session, told } = await connected(new Log(1), {
      mode: 'snapshot-then-delta',
      cursor: START + 1,
    });
    await vi.waitFor(() => expect(session.subscriptions.get('s')!.live).toBe(true));
    feed.accept([event(2), gap(3), event(4)]);
    await vi.waitFor(() => expect(told()).toHaveLength(4));
    feed.accept([event(5)]);
    await vi.waitFor(() => expect(told()).toHaveLength(5));
    expect(told()).toEqual([
      'feature-change 2',
      'gap 3 events-lost',
      'snapshot-begin 4 cursor-expired',
      'snapshot-end 4',
      'feature-change 5',
    ]);
    hub.close();
  });
});

async function connectedTo(hub: Hub, cursor: number): Promise<() => string[]> {
  const types: string[] = [];
  const transport = {
    name: 'WebSocket' as const,
    send(frame: string) {
      types.push((JSON.parse(frame) as Frame).type);
      return true;
    },
    together: (send: () => void) => send(),
    close() {},
  };
  const interest = { layers: [1], bbox: undefined, filter: undefined, datetime: undefined };
  hub.open(transport, { principal: ANONYMOUS, address: '' }, undefined, (session) =>
    hub.subscribe(session, { id: 't', interest, mode: 'delta', cursor }),
  );
  await vi.waitFor(() => expect(types).toContain('feature-change'));
  return () => types;
}

describe('the name of an instance', () => {
  it('tells whether the process has ended', () => {
    expect(hasEnded(instanceName())).toBe(false);
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    expect(hasEnded(`${hostname()}:${pid}:x`)).toBe(true);
  });

  it('tells so of one whose parent has not asked for its end', async () => {
    // The child ends when its input does, once its parent is a program that asks for no child.
    const parent = spawn('sh', ['-c', 'cat <&3 & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
    });
    const [pid] = (await once(parent.stdout!, 'data')) as [Buffer];
    await vi.waitFor(() => expect(readFileSync(`/proc/${parent.pid}/comm`, 'utf8')).toBe('sleep\n'));
    (parent.stdio[3] as Writable).end();
    await vi.waitFor(() => expect(hasEnded(`${hostname()}:${Number(pid)}:x`)).toBe(true));
    expect(readFileSync(`/proc/${Number(pid)}/stat`, 'latin1')).toMatch(/\) Z /);
    parent.kill('SIGKILL');
  });

  it('tells nothing of other machines, nor in other forms', () => {
    const { pid } = spawnSync(process.execPath, ['-e', '']);
    const [machine] = instanceName().split(':');
    expect(machine).toMatch(new RegExp(`^${hostname()}@[0-9a-f]{12}$`));
    expect(hasEnded(`${machine}:${pid}:x`)).toBe(true);
    // A container with the same host name, or the same machine before its restart.
    expect(hasEnded(`${hostname()}@0123456789ab:${pid}:x`)).toBe(false);
    expect(hasEnded(`elsewhere-${hostname()}:${pid}:x`)).toBe(false);
    expect(hasEnded('0b8f7c1e-6f0b-43a5-bae4-6a8df5e39b84')).toBe(false);
  });
});
