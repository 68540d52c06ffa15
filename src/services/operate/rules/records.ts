import { createHash } from 'node:crypto';
import { groupItems } from '../../../core/values/group-items.js';
import type { Observer } from '../../observability/observer.js';
import type { ProcessReports } from '../../observability/process-reports.js';
import type { FindingDraft, OpsRule } from '../findings/finding.js';

/** Connections to databases of one process. */
export interface ConnectionUse {
  readonly active: number;
  readonly capacity: number;
}

export interface RecordRuleDeps {
  readonly observer: Pick<Observer, 'failures'>;
  readonly reports: Pick<ProcessReports, 'resources' | 'statements'>;
  /** Connections of all processes, and the processes that did not report. */
  connections(): Promise<{ readonly answers: readonly ConnectionUse[]; readonly missing: readonly string[] }>;
}

const RECENT_MS = 15 * 60_000;
/** Used part of the connections from which requests wait soon. */
const USED_PART = 0.75;
/** Failed requests of one client, and slow executions of one statement, that are a problem. */
const FAILURES = 20;
const SLOW = 10;
const STATEMENT_CHARACTERS = 500;

/** Problems in the records of the processes. The server has no action against them, and says what a person can do. */
export function createRecordRules({ observer, reports, connections }: RecordRuleDeps): OpsRule[] {
  return [
    {
      name: 'connections-exhausted',
      async inspect() {
        const { answers, missing } = await connections();
        const sum = (read: (one: ConnectionUse) => number) =>
          answers.reduce((all, one) => all + read(one), 0);
        const [active, capacity] = [sum((one) => one.active), sum((one) => one.capacity)];
        const isUsedUp = capacity > 0 && active / capacity >= USED_PART;
        return { findings: isUsedUp ? [describeConnections(active, capacity)] : [], silent: missing };
      },
    },
    {
      name: 'client-failing',
      async inspect() {
        const { items, missing } = await observer.failures();
        const recent = items.filter(({ at }) => at > Date.now() - RECENT_MS);
        const byClient = groupItems(recent, ({ actor, remoteIp }) => `${actor} at ${remoteIp}`);
        return {
          findings: [...byClient]
            .filter(([, { length }]) => length >= FAILURES && length > recent.length / 2)
            .map(([client, failures]) => describeClient(client, failures)),
          silent: missing,
        };
      },
    },
    {
      name: 'statement-slow',
      async inspect() {
        const { slow, missing } = await reports.statements();
        const recent = slow.filter(({ at }) => at > Date.now() - RECENT_MS);
        const byText = [...groupItems(recent, ({ text }) => text)];
        return {
          findings: byText
            .filter(([, { length }]) => length >= SLOW)
            .map(([text, executions]) =>
              describeStatement(
                text,
                executions.map(({ ms }) => ms),
              ),
            ),
          silent: missing,
        };
      },
    },
    {
      name: 'resource-leaking',
      async inspect() {
        const { leaks, missing } = await reports.resources();
        const byKind = [...groupItems(leaks, ({ kind }) => kind)];
        return { findings: byKind.map(([kind, all]) => describeLeak(kind, all)), silent: missing };
      },
    },
  ];
}

const describeConnections = (active: number, capacity: number): FindingDraft => ({
  subject: { targetId: 'connections' },
  severity: 'Warning',
  title: 'Most connections to databases are in use',
  explanation: `${active} of ${capacity} connections are in use. Requests of the same tables wait. Look for long transactions and slow statements in the database, or increase postgis.connections.`,
  evidenceRefs: ['health:database'],
  facts: { capacity },
});

function describeClient(
  client: string,
  failures: readonly { statusCode: number; path: string }[],
): FindingDraft {
  const statuses = [...new Set(failures.map(({ statusCode }) => statusCode))].sort();
  const paths = [...new Set(failures.map(({ path }) => path))].sort().slice(0, 5);
  return {
    subject: { targetId: `client:${client}` },
    severity: 'Warning',
    title: `Most failed requests are of ${client}`,
    explanation: `In the last 15 minutes ${failures.length} requests failed with ${statuses.join(', ')}. Examples: ${paths.join(', ')}. Tell the client, or limit its rate.`,
    evidenceRefs: [`client:${client}`],
    facts: { client, statuses },
  };
}

function describeStatement(text: string, durations: readonly number[]): FindingDraft {
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 16);
  const longest = Math.round(Math.max(...durations));
  const shown = text.length > STATEMENT_CHARACTERS ? `${text.slice(0, STATEMENT_CHARACTERS)}…` : text;
  return {
    subject: { targetId: `statement:${digest}` },
    severity: 'Warning',
    title: 'A statement is slow again and again',
    explanation: `In the last 15 minutes it was slow ${durations.length} times, at most ${longest} ms: ${shown}. Look at its plan with EXPLAIN, and at the findings about its table.`,
    evidenceRefs: [`statement:${digest}`],
    facts: { statement: shown },
  };
}

function describeLeak(kind: string, leaks: readonly { instance: string; label: string }[]): FindingDraft {
  const instances = [...new Set(leaks.map(({ instance }) => instance))].sort();
  return {
    subject: { targetId: `resource:${kind}` },
    severity: 'Warning',
    title: `Resources of the kind ${kind} stay open after their tasks`,
    explanation: `${leaks.length} are open in ${instances.join(', ')}, such as ${leaks[0]!.label}. Restart these processes, and send a support bundle.`,
    evidenceRefs: instances.map((name) => `instance:${name}`),
    facts: { kind, instances },
  };
}
