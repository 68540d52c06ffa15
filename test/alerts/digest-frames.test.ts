import { afterEach, beforeEach, expect, it } from 'vitest';
import type { AlertFrame } from '../../src/core/cluster/notes.js';
import type { Principal, Socket } from '../../src/core/http/operation.js';
import { formatNotice, joinBodies } from '../../src/services/alerts/channels/content.js';
import { createStreamSender } from '../../src/services/alerts/channels/websocket.js';
import { AlertStream } from '../../src/services/alerts/stream.js';
import { Peers } from '../../src/services/cluster/peers.js';
import { MESSAGE } from './recorders.js';

/** Digests on the WebSocket contain only alerts that the subscriber can read. */

const [OPEN, MASKED, HIDDEN] = [5, 6, 7];

let stream: AlertStream;

beforeEach(() => {
  const peers = new Peers(
    'test',
    () => [],
    () => {},
  );
  const events = {
    changeBounds: async () => ({ trimmed: 0, newest: 0 }),
    changedAfter: async () => [],
  };
  stream = new AlertStream(peers, { tell() {}, tellAlert() {}, events, current: () => undefined });
  stream.restrict(({ permissions }, layerId) =>
    permissions?.includes('*')
      ? 'all'
      : layerId === OPEN
        ? 'all'
        : layerId === MASKED
          ? 'headline'
          : 'nothing',
  );
});
afterEach(() => stream.close());

// biome-ignore lint/suspicious/noExplicitAny: frames are compared member by member
type Frame = any;

function subscribe(tenantId?: string, ...permissions: string[]): Frame[] {
  const frames: Frame[] = [];
  const socket = {
    send(frame: string) {
      frames.push(JSON.parse(frame));
      return true;
    },
    close() {},
  } as unknown as Socket;
  const principal = { kind: 'api-key', id: 'a', permissions, tenantId } as unknown as Principal;
  stream.subscribe(socket, { principal, address: '' }, undefined);
  frames.length = 0;
  return frames;
}

const alert = (eventId: number, layerId: number, tenant?: string) =>
  JSON.stringify({ ...MESSAGE, eventId, layerId, ...(tenant === undefined ? {} : { tenant }) });
const publish = async (bodies: readonly string[], count = bodies.length) => {
  const frames: AlertFrame[] = [];
  await createStreamSender((frame) => frames.push(frame)).send(
    'digest-1',
    joinBodies(bodies, count),
    new AbortController().signal,
  );
  for (const frame of frames) stream.hearAlert(frame);
};
const listAlertIds = ({ event }: Frame) => event.alerts.map((one: Frame) => one.eventId ?? one.kind);

it('are complete for those who can read all alerts', async () => {
  const [everything] = [subscribe(undefined, '*')];
  await publish([alert(1, OPEN), alert(2, HIDDEN), alert(3, OPEN, 'acme')], 1000);
  expect(everything).toHaveLength(1);
  expect(everything[0]).toMatchObject({ subject: '1000 alerts', event: { count: 1000 } });
  expect(listAlertIds(everything[0])).toEqual([1, 2, 3]);
});

it('omit alerts of hidden layers, and their number', async () => {
  const reader = subscribe();
  await publish([alert(1, OPEN), alert(2, HIDDEN), alert(3, MASKED), alert(4, HIDDEN)], 1000);
  expect(reader).toHaveLength(1);
  expect(listAlertIds(reader[0])).toEqual([1, 3]);
  expect(reader[0]).toMatchObject({ subject: '2 alerts', message: '2 alerts', event: { count: 2 } });
  expect(JSON.stringify(reader[0])).not.toMatch(/1000|attributes|coordinates/);
  await publish([alert(5, HIDDEN), alert(6, HIDDEN)], 1000);
  expect(reader).toHaveLength(1);
});

it('reach tenants with their own alerts only, and without notices', async () => {
  const [acme, globex] = [subscribe('acme'), subscribe('globex')];
  const notice = formatNotice({ kind: 'slow-consumer', severity: 'error', subject: 's', message: 'm' });
  await publish([alert(1, OPEN, 'acme'), alert(2, OPEN), notice, alert(3, OPEN, 'other')]);
  expect(acme.map(listAlertIds)).toEqual([[1]]);
  expect(acme[0]).toMatchObject({ subject: '1 alert', event: { count: 1 } });
  expect(globex).toEqual([]);
});
