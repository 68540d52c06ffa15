import Type from 'typebox';
import { plainFields } from '../../core/access/field-masks.js';
import { ApiError, badParameter } from '../../core/errors/errors.js';
import { type Format, JSON_FORMAT } from '../../core/http/media.js';
import {
  defineOperation,
  type Exchange,
  type Operation,
  type Principal,
  type Reply,
} from '../../core/http/operation.js';
import { defineListParam, defineTextParam } from '../../core/http/params.js';
import { LIMITS } from '../../core/kit/limits.js';
import { SERVICE_ID } from '../../core/kit/service.js';
import { STREAM_LIMITS } from '../../core/streams/limits.js';
import type { Hub } from '../../services/streams/hub.js';
import { type Session, SLOW_POLICIES } from '../../services/streams/session.js';
import type { Visitor } from '../../services/streams/session-quotas.js';
import { refuseForeignPages } from '../http/requests/origin.js';
import type { SurfaceDeps } from '../surface/common.js';
import { DEFAULT_SUBSCRIPTION, resumption } from './control.js';
import { type AskedInterest, readInterest } from './interest.js';
import { EventStream } from './sse.js';
import { streamSocket } from './websocket.js';

export interface StreamingDeps extends SurfaceDeps {
  hub: Hub;
  version: string;
  permits(principal: Principal, permission: string): boolean;
}

const PATH = '/api/v1/streaming/features';
const COMMON = {
  surface: 'streaming',
  protocol: 'Streaming',
  permission: 'public',
  tag: 'Streaming',
} as const;
const EVENT_STREAM: Format = { name: 'sse', mediaType: 'text/event-stream' };
const BINARY = 'msgpack';

const params = {
  serviceId: defineTextParam('serviceId', { description: `The service: ${SERVICE_ID}.` }),
  layers: defineListParam('layers', 256, 'Numeric layer ids.', ['layerIds']),
  bbox: defineTextParam('bbox', {
    description: 'west,south,east,north in degrees; needs exactly one layer.',
  }),
  bboxCrs: defineTextParam('bbox-crs', {
    description: 'CRS of bbox: EPSG:4326, longitude first.',
    aliases: ['bboxCrs'],
  }),
  filter: defineTextParam('filter', { description: 'CQL2 filter; needs exactly one layer.' }),
  filterLang: defineTextParam('filter-lang', { description: 'cql2-text or cql2-json.' }),
  datetime: defineTextParam('datetime', {
    description: 'RFC 3339 instant or interval; needs exactly one layer.',
    aliases: ['time'],
  }),
  mode: defineTextParam('mode', { description: 'delta, snapshot or snapshot-then-delta.' }),
  cursor: defineTextParam('cursor', {
    description: 'Cursor of the last change that was received: later ones follow.',
  }),
  clientLabel: defineTextParam('clientLabel', { description: 'Name of the client, shown to operators.' }),
  onSlow: defineTextParam('onSlow', {
    description:
      'drop: a client that does not keep up is disconnected; coalesce: it gets the latest of each feature.',
  }),
  format: defineTextParam('format', { description: `WebSocket only: json, or ${BINARY} for binary frames.` }),
  subscribe: defineTextParam('subscribe', {
    description:
      'WebSocket only: false opens it without a subscription. Otherwise, layers or serviceId select the data.',
  }),
  compress: defineTextParam('compress', { description: 'WebSocket only: true for permessage-deflate.' }),
  lastEventId: defineTextParam('last-event-id', {
    in: 'header',
    description: 'Same as cursor. Browsers send it when they reconnect.',
  }),
};

/** Live changes of features over WebSocket or server-sent events. */
export function streamingOperations(deps: StreamingDeps): Operation[] {
  return [
    defineOperation({
      ...COMMON,
      id: 'streaming.features',
      method: 'GET',
      path: PATH,
      summary: 'Live changes of features',
      description: 'Opens a WebSocket. If Accept is text/event-stream, opens a stream of server-sent events.',
      params,
      formats: [],
      socket: true,
      responses: {
        101: { description: 'A WebSocket: control frames from the client, frames of changes to it' },
        200: { description: 'Server-sent events', content: { 'text/event-stream': null } },
        400: { description: 'A parameter is wrong' },
        401: { description: 'Only administrators may listen to everything' },
        429: { description: 'Too many sessions of this address or key' },
        503: { description: 'Too many sessions' },
      },
      run: (x) => listen(x, deps),
    }),
    defineOperation({
      ...COMMON,
      id: 'streaming.capabilities',
      method: 'GET',
      path: `${PATH}/capabilities`,
      summary: 'Capabilities of streams',
      formats: [JSON_FORMAT],
      responses: { 200: { description: 'Capabilities', content: { 'application/json': Type.Object({}) } } },
      run: (x) => ({
        status: 200,
        mediaType: 'application/json',
        body: JSON.stringify(capabilities(x, deps)),
        cacheControl: 'no-cache',
      }),
    }),
  ];
}

function capabilities(x: Exchange, { hub, version, visible }: StreamingDeps) {
  return {
    enabled: true,
    edition: 'community',
    minimumEdition: 'community',
    transports: ['websocket', 'sse'],
    filterFamilies: ['layers', 'bbox', 'cql2-text', 'cql2-json', 'datetime'],
    replaySupported: true,
    cursorRetentionLimit: hub.cursorRetention,
    heartbeatIntervalSeconds: LIMITS.heartbeatMs / 1000,
    maxConcurrentSessions: hub.maxSessions,
    deleteBeforeImages: true,
    modes: ['delta', 'snapshot', 'snapshot-then-delta'],
    subscriptionSequence: true,
    maxSnapshotFeatures: STREAM_LIMITS.snapshotFeatures,
    maxSnapshotScanRows: STREAM_LIMITS.snapshotScanRows,
    serverVersion: version,
    layers: visible(x.principal).vectors.map(({ id, layerId, source }) => {
      const times = plainFields(source.fields).filter(({ type }) => type === 'date' || type === 'date-time');
      return {
        layerId,
        name: id,
        canSubscribe: true,
        supportsSpatialFilters: true,
        supportsTemporalFilters: times.length > 0,
        temporalFields: times.map(({ name }) => name),
        crs: 'EPSG:4326',
      };
    }),
  };
}

function listen(x: Exchange<typeof params>, deps: StreamingDeps): Reply {
  const { hub, permits } = deps;
  const sse = !x.upgradable;
  if (sse && !/text\/event-stream/.test(x.header('accept') ?? ''))
    throw new ApiError(
      'not-acceptable',
      'Accept: must be text/event-stream, unless the request opens a WebSocket.',
    );
  refuseForeignPages(x);
  const { principal } = x;
  const visitor: Visitor = { principal, address: x.clientAddress };
  hub.requirePlace(visitor);
  const mayAll = permits(principal, 'admin:read');
  const visible = () => deps.visible(principal);
  const interestParams = readAskedInterest(x);
  const isSubscribed = Object.values(interestParams).some((value) => value !== undefined);
  // A WebSocket may be opened without a subscription, but server-sent events cannot subscribe later. Anonymous callers
  // must always name their subscription.
  const named = sse || isSubscribed || principal.kind === 'anonymous';
  const read = named ? readInterest(interestParams, visible(), mayAll) : undefined;
  const subscribe = word('subscribe', x.params.subscribe, ['true', 'false'] as const);
  const interest = subscribe === 'false' && !sse ? undefined : read;
  if (interest) hub.requirePlace(visitor, interest);
  const policy = word('onSlow', x.params.onSlow, SLOW_POLICIES);
  const format = word('format', x.params.format, ['json', BINARY] as const);
  const compress = word('compress', x.params.compress, ['true', 'false'] as const);
  const beginning = resumption({ mode: x.params.mode, cursor: findCursor(x) });
  const begin = (session: Session) => {
    if (policy) session.policy = policy;
    if (!interest) return;
    const refusal = hub.subscribe(session, { id: DEFAULT_SUBSCRIPTION, interest, ...beginning });
    // Another session of the client used up the rest of the limit in the meantime, so the client must reconnect.
    if (refusal) session.close('SourceUnavailable');
  };
  const label = x.params.clientLabel?.slice(0, LIMITS.subscriptionId);
  if (!sse) {
    return {
      status: 101,
      socket: streamSocket({
        binary: format === BINARY,
        compress: compress === 'true',
        deps: { hub, visible, mayAll },
        open: (transport) => hub.open(transport, visitor, label, begin),
      }),
    };
  }
  const stream = new EventStream(x.signal, (transport) => hub.open(transport, visitor, label, begin));
  return { status: 200, mediaType: EVENT_STREAM.mediaType, cacheControl: 'no-store', body: stream };
}

function word<T extends string>(name: string, value: string | undefined, words: readonly T[]): T | undefined {
  if (value === undefined || words.includes(value as T)) return value as T | undefined;
  throw badParameter(name, `must be one of ${words.join(', ')}`);
}

function readAskedInterest({ params: p }: Exchange<typeof params>): AskedInterest {
  return {
    serviceId: p.serviceId,
    layers: p.layers?.map(Number),
    bbox: p.bbox?.split(',').map(Number),
    bboxCrs: p.bboxCrs,
    filter: p.filter,
    filterLang: p.filterLang,
    datetime: p.datetime,
  };
}

function findCursor({ params: p }: Exchange<typeof params>): number | undefined {
  const text = p.cursor ?? p.lastEventId;
  if (text === undefined) return undefined;
  if (!/^\d{1,16}$/.test(text)) throw badParameter('cursor', 'must be an integer of at least 0');
  return Number(text);
}
