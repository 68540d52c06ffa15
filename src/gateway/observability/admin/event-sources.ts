import type { Principal } from '../../../core/http/operation.js';
import { permits } from '../../../services/access/permissions.js';
import { withDeadline } from '../../../services/kit/deadline.js';
import type { RecordQuery, TimedRecord } from '../../../stores/observability/recent-records.js';
import type { ServicesOf } from '../../admin/deps.js';
import { restrictEvents } from '../../alerts/admin/visible-events.js';
import { listReleaseRecords } from '../../releases/release-records.js';
import { EVENT_KINDS, type EventKind, KIND_PERMISSIONS } from './event-kinds.js';
import {
  buildAlertEvent,
  buildAuditEvent,
  buildConflictEvent,
  buildJobEvent,
  buildLogEvent,
  buildReleaseEvent,
  type OperateEvent,
} from './event-views.js';

export const EVENT_SERVICES = ['state', 'alerts', 'catalog', 'visible', 'observer'] as const;
type Deps = ServicesOf<typeof EVENT_SERVICES>;

/** Selection of events. Times are milliseconds since 1970, inclusive. */
export interface EventQuery {
  readonly kinds: readonly EventKind[] | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly limit: number;
  matches(event: OperateEvent): boolean;
}

export interface EventPage {
  /** Newest first. */
  readonly events: readonly OperateEvent[];
  /** Kinds with missing events, and the reason. */
  readonly sourceErrors: Readonly<Partial<Record<EventKind, string>>>;
}

/** Events of one kind, newest first, and why some are missing. */
interface SourcePage {
  readonly events: readonly OperateEvent[];
  readonly error?: string | undefined;
}

/** Maximum milliseconds to wait for the events of one kind. */
const SOURCE_TIMEOUT_MS = 2000;
/** Records in one page of a search. */
const PAGE_SIZE = 500;
/** Maximum pages of a search. */
const MAX_PAGES = 20;

/** Kinds of which the server has events. The API also defines `temporalOp`: only a client that requests it gets its error. */
const PRODUCED_KINDS = EVENT_KINDS.filter((kind) => kind !== 'temporalOp');

/** Merges the events of all kinds that the caller can read. A kind that fails or is slow delays no other kind. */
export async function collectEvents(query: EventQuery, principal: Principal, deps: Deps): Promise<EventPage> {
  const requested = query.kinds ?? PRODUCED_KINDS;
  const kinds = EVENT_KINDS.filter((kind) => requested.includes(kind));
  const pages = await Promise.all(kinds.map((kind) => readSource(kind, query, principal, deps)));
  const sourceErrors = Object.fromEntries(
    kinds.flatMap((kind, i) => (pages[i]!.error === undefined ? [] : [[kind, pages[i]!.error]])),
  );
  // The sort is stable, so that events of the same time are in the order of their kinds.
  const events = pages.flatMap((page) => page.events).sort((a, b) => b.at - a.at);
  return { events: events.slice(0, query.limit), sourceErrors };
}

async function readSource(
  kind: EventKind,
  query: EventQuery,
  principal: Principal,
  deps: Deps,
): Promise<SourcePage> {
  if (kind === 'temporalOp') return { events: [], error: 'The server has no temporal operations.' };
  const permission = KIND_PERMISSIONS[kind];
  if (!permits(principal, permission))
    return { events: [], error: `The permission ${permission} is required.` };
  const message = `The source did not respond within ${SOURCE_TIMEOUT_MS / 1000} seconds.`;
  try {
    return await withDeadline(SOURCES[kind](query, principal, deps), SOURCE_TIMEOUT_MS, message);
  } catch (error) {
    return { events: [], error: (error as Error).message };
  }
}

type Source = (query: EventQuery, principal: Principal, deps: Deps) => Promise<SourcePage>;

const SOURCES: Readonly<Record<keyof typeof KIND_PERMISSIONS, Source>> = {
  alert: (query, principal, deps) => {
    const { layers } = restrictEvents(principal, deps);
    return searchPages(query, (page) => deps.state.recentRecords.alerts(page, layers), buildAlertEvent);
  },
  audit: (query, _by, { state }) =>
    searchPages(query, (page) => state.recentRecords.audit(page), buildAuditEvent),
  job: (query, _by, { state, catalog }) =>
    searchPages(
      query,
      (page) => state.recentRecords.jobs(page),
      (job) => buildJobEvent(job, catalog()),
    ),
  async release(query, _by, deps) {
    const records = await listReleaseRecords(deps);
    return { events: filterEvents(query, records.map(buildReleaseEvent)) };
  },
  syncConflict: (query, _by, { state, catalog }) =>
    searchPages(
      query,
      (page) => state.recentRecords.conflicts(page),
      (conflict) => buildConflictEvent(conflict, catalog()),
    ),
  async log(query, _by, { observer }) {
    const { items, missing } = await observer.lines();
    const error = missing.length > 0 ? `Processes that did not respond: ${missing.join(', ')}.` : undefined;
    return { events: filterEvents(query, items.map(buildLogEvent)), error };
  },
};

/** Newest events that match, from pages of records. Stops after `MAX_PAGES` with an error. */
async function searchPages<T>(
  query: EventQuery,
  read: (page: RecordQuery) => Promise<TimedRecord<T>[]>,
  build: (record: T) => OperateEvent,
): Promise<SourcePage> {
  const events: OperateEvent[] = [];
  let after: RecordQuery['after'];
  for (let i = 0; i < MAX_PAGES; i++) {
    const rows = await read({ from: query.from, to: query.to, after, limit: PAGE_SIZE });
    for (const { record } of rows) {
      const event = build(record);
      if (query.matches(event)) events.push(event);
    }
    if (events.length >= query.limit || rows.length < PAGE_SIZE)
      return { events: events.slice(0, query.limit) };
    after = rows.at(-1);
  }
  return {
    events,
    error: `Only the newest ${PAGE_SIZE * MAX_PAGES} records were searched. Use a shorter time range.`,
  };
}

/** Newest events that match, from an unsorted list. */
function filterEvents(
  { from, to, limit, matches }: EventQuery,
  all: readonly OperateEvent[],
): OperateEvent[] {
  const isInRange = ({ at }: OperateEvent) =>
    (from === undefined || at >= from) && (to === undefined || at <= to);
  return all
    .filter((event) => isInRange(event) && matches(event))
    .sort((a, b) => b.at - a.at)
    .slice(0, limit);
}
