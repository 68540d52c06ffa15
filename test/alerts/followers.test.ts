import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Principal } from '../../src/core/http/operation.js';
import { AlertStream, type AlertView } from '../../src/services/alerts/stream.js';
import type { AlertFollower } from '../../src/services/alerts/subscribers.js';
import { Peers } from '../../src/services/cluster/peers.js';
import type { CloseReason, Transport } from '../../src/services/streams/session.js';
import type { State } from '../../src/stores/state/state.js';
import { randomNumbers } from '../support/random.js';
import { describeStates, type TemporaryState } from '../support/state.js';
import { openWorld, type Position, type World, waitFor } from './world.js';

const DEPOT = 'POLYGON ((10 10, 11 10, 11 11, 10 11, 10 10))';
const IN: Position = [10.5, 10.5];
const OUT: Position = [0, 0];

const READER = { kind: 'api-key', id: 'a', permissions: ['*'] } as unknown as Principal;

interface FrameRecord {
  readonly type: string;
  readonly id: number | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: frames are compared member by member
  readonly data: any;
}

/** A client of the stream. While `isSlow`, it reads nothing. */
class Client implements Transport {
  readonly name = 'SSE';
  readonly received: FrameRecord[] = [];
  ended: CloseReason | undefined;
  isSlow = false;
  follower: AlertFollower | undefined;

  constructor(private readonly start = 0) {}

  send(frame: string, cursor: number | undefined): boolean {
    const data = JSON.parse(frame);
    this.received.push({ type: data.type, id: cursor, data });
    return !this.isSlow;
  }

  together(send: () => void): void {
    send();
  }

  close(reason: CloseReason): void {
    this.ended = reason;
  }

  of(type: string): FrameRecord[] {
    return this.received.filter((one) => one.type === type);
  }

  /** Id after which the client resumes. */
  get lastId(): number {
    return this.received.findLast(({ id }) => id !== undefined)?.id ?? this.start;
  }
}

describeStates('followers of alert events', (open) => {
  let temporary: TemporaryState;
  let world: World;
  /** The state as the other server has it, which evaluates nothing and sends the stream. */
  let other: State;
  let stream: AlertStream;
  let view: AlertView;

  beforeEach(async () => {
    temporary = await open();
    world = await openWorld(temporary);
    other = await temporary.again();
    view = 'all';
    const peers = new Peers(
      'test',
      () => [],
      () => {},
    );
    const links = { tell() {}, tellAlert() {}, events: other.alertEvents, current: () => undefined };
    stream = new AlertStream(peers, links, { heartbeatMs: 50, stallMs: 3000 });
    stream.restrict(() => view);
    other.signals.on('alert-events', () => stream.changed());
  });
  afterEach(async () => {
    stream.close();
    await world.close();
    await temporary.close();
  });

  const follow = (cursor?: number, principal: Principal = READER): Client => {
    const client = new Client(cursor);
    client.follower = stream.follow({
      ...{ transport: client, visitor: { principal, address: '' }, clientLabel: undefined, cursor },
      present: ({ id, incident_status, lifecycle }, shown) =>
        JSON.stringify({ eventId: id, status: incident_status, lifecycle, shown }),
    });
    return client;
  };
  const startWorld = async () => {
    const zone = await world.addZone(DEPOT);
    const ruleId = await world.addRule({ trigger: 'enter', zone });
    await world.move('1', OUT);
    world.start();
    await world.settled();
    return ruleId;
  };
  const statuses = (client: Client) => client.of('alert').map(({ data }) => [data.eventId, data.status]);

  it('receive each change that another server writes: starts, ends, people, changed rules', async () => {
    const ruleId = await startWorld();
    const client = follow();
    await waitFor(() => client.of('status').length === 1);
    expect(client.received[0]).toMatchObject({ id: 0, data: { status: 'connected', cursor: 0 } });
    await world.move('1', IN);
    await waitFor(() => client.of('alert').length === 1);
    await temporary.state.alertEvents.change(1, { lifecycle: 'acknowledged', by: 'me' });
    await waitFor(() => client.of('alert').length === 2);
    expect(client.of('alert')[1]!.data).toMatchObject({ eventId: 1, lifecycle: 'acknowledged' });
    await world.move('1', OUT);
    await waitFor(() => client.of('alert').length === 3);
    await world.move('1', IN);
    await waitFor(() => client.of('alert').length === 4);
    await temporary.state.alertRules.remove(ruleId);
    await waitFor(() => client.of('alert').length === 5);
    expect(statuses(client)).toEqual([
      [1, 'started'],
      [1, 'started'],
      [1, 'ended'],
      [2, 'started'],
      [2, 'ended'],
    ]);
  });

  it('resume after their last id without loss and repetition, and learn of ids that are too old or unknown', async () => {
    await startWorld();
    const first = follow();
    await waitFor(() => first.of('status').length === 1);
    for (let i = 0; i < 3; i++) {
      await world.move('1', IN);
      await world.move('1', OUT);
    }
    await waitFor(() => first.of('alert').length >= 1 && first.lastId > 0);
    first.follower!.close('ClientClosed');
    const seen = first.lastId;
    await world.move('1', IN);
    await world.settled();
    const second = follow(seen);
    const expected = await temporary.state.alertEvents.changedAfter(seen, 100);
    await waitFor(() => second.of('alert').length === expected.length);
    expect(second.of('alert').map(({ id }) => id)).toEqual(expected.map((row) => row.change_number));
    expect(statuses(second).at(-1)).toEqual([4, 'started']);

    // Three ended events are deleted, the open one stays.
    await temporary.state.alertEvaluation.trim(1e6, -1000);
    const { trimmed, newest } = await other.alertEvents.changeBounds();
    expect([trimmed > 0, trimmed < newest]).toEqual([true, true]);
    const late = follow(trimmed - 1);
    await waitFor(() => late.of('alert').length === 1);
    expect(late.of('gap')[0]!.data).toMatchObject({
      ...{ reason: 'cursor-expired', requestedCursor: trimmed - 1 },
      message: expect.stringContaining('no longer has all changes after this id'),
    });
    expect(statuses(late)).toEqual([[4, 'started']]);
    const onTime = follow(trimmed);
    await waitFor(() => onTime.of('alert').length === 1);
    expect(onTime.of('gap')).toEqual([]);
    const foreign = follow(newest + 1000);
    await waitFor(() => foreign.of('gap').length === 1);
    expect(foreign.of('gap')[0]!.data).toMatchObject({ reason: 'cursor-invalid' });
    expect(foreign.lastId).toBe(newest);
  });

  it('that are slow get everything later, and those that never read are ended', async () => {
    await startWorld();
    const slow = follow();
    await waitFor(() => slow.of('status').length === 1);
    slow.isSlow = true;
    const before = slow.received.length;
    for (let i = 0; i < 20; i++) await world.move(`car ${i}`, IN);
    await world.settled();
    // The frame that the client did not read: a heartbeat or the first alert.
    await waitFor(() => slow.received.length > before);
    expect((await other.alertEvents.changeBounds()).newest).toBe(20);
    expect(slow.received.length).toBe(before + 1);
    slow.isSlow = false;
    slow.follower!.drained();
    await waitFor(() => slow.of('alert').length === 20);
    expect(new Set(statuses(slow).map(([id]) => id)).size).toBe(20);
    expect(slow.ended).toBeUndefined();
    slow.isSlow = true;
    await waitFor(() => slow.ended === 'SlowConsumer');
    expect(await stream.list()).toEqual([]);
  });

  it('learn nothing of layers and tenants that they may not read, from the moment of the change', async () => {
    await startWorld();
    const client = follow();
    const foreign = follow(undefined, { ...READER, id: 'b', tenantId: 'acme' } as Principal);
    await waitFor(() => client.of('status').length + foreign.of('status').length === 2);
    view = 'nothing';
    await world.move('1', IN);
    await waitFor(() => client.of('heartbeat').some(({ id }) => id === 1));
    view = 'headline';
    await world.move('2', IN);
    await waitFor(() => client.of('alert').length === 1);
    expect(client.of('alert')[0]!.data).toMatchObject({ eventId: 2, shown: 'headline' });
    await waitFor(() => foreign.of('heartbeat').some(({ id }) => id === 2));
    stream.notify({ kind: 'slow-consumer', severity: 'warning', subject: 's', message: 'm' });
    expect([client.of('notice').length, foreign.of('notice').length]).toEqual([1, 0]);
    expect(foreign.of('alert')).toEqual([]);
  });

  it('know the final state of every event, however often they reconnect', async () => {
    await startWorld();
    const random = randomNumbers(7);
    const known = new Map<number, unknown>();
    const ids: number[] = [];
    let client = follow();
    await waitFor(() => client.of('status').length === 1);
    const drop = () => {
      client.follower!.close('ClientClosed');
      for (const { id, data } of client.of('alert')) {
        ids.push(id!);
        known.set(data.eventId, [data.status, data.lifecycle]);
      }
      return client.lastId;
    };
    for (let i = 0; i < 80; i++) {
      await world.move(`car ${Math.floor(random() * 4)}`, random() < 0.5 ? IN : OUT);
      const [row] = await world.events().then((rows) => rows.filter(() => random() < 0.2));
      if (row) {
        const lifecycle = random() < 0.5 ? ('acknowledged' as const) : ('resolved' as const);
        await temporary.state.alertEvents.change(row.id, { lifecycle, by: 'me' });
      }
      if (random() < 0.3) client = follow(drop());
    }
    await world.settled();
    const { newest } = await other.alertEvents.changeBounds();
    await waitFor(() => client.lastId === newest);
    drop();
    const rows = await world.events();
    expect(rows.length).toBeGreaterThan(10);
    expect([...known].sort(([a], [b]) => a - b)).toEqual(
      rows.map(({ id, incident_status, lifecycle }) => [id, [incident_status, lifecycle]]),
    );
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
  });

  it('have limits, of all and of one key', async () => {
    for (let i = 0; i < 16; i++) expect(follow().follower).toBeDefined();
    expect(follow().follower).toBeUndefined();
    expect(() => stream.requirePlace({ principal: READER, address: '' })).toThrow('too many sessions');
    const many = (i: number) => ({ ...READER, id: `key ${i}` }) as Principal;
    for (let i = 0; i < 48; i++) expect(follow(undefined, many(i)).follower).toBeDefined();
    expect(() => stream.requirePlace({ principal: many(99), address: '' })).toThrow('Retry later');
    expect((await stream.list()).map(({ transport }) => transport)).toEqual(Array(64).fill('SSE'));
  });
});
