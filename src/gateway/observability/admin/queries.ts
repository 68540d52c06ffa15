import Type from 'typebox';
import { defineIntegerParam } from '../../../core/http/params.js';
import { estimateQuantile } from '../../../core/observability/durations.js';
import type { StatementTotals } from '../../../core/observability/statements.js';
import type { TaskName } from '../../../core/tasks/tasks.js';
import type {
  ClusterStatements,
  InstanceStatement,
} from '../../../services/observability/process-reports.js';
import { findQueryType } from '../../../services/telemetry/task-metrics.js';
import { OptionalStringSchema, TimestampSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';
import { MissingInstances } from './missing-instances.js';

const { report } = createRowBuilders(['reports']);

const S = Type.String();
const I = Type.Integer();
const D = Type.Number();
const B = Type.Boolean();
const OptionalInteger = Type.Union([I, Type.Null()]);

/** Correlation id of statements that the server sent for no request. */
const NO_REQUEST = '-';
/** Texts of statements in a response. */
const MAX_STATEMENTS = 50;
/** Greatest int32, for members that the contract defines as such. */
const MAX_INT = 2 ** 31 - 1;

const Totals = { count: I, failedCount: I, slowCount: I, avgTimeMs: D, maxTimeMs: D };

export const QueryPerformance = Type.Object({
  totalQueries: I,
  failedQueries: I,
  slowQueries: I,
  avgExecutionTimeMs: D,
  maxExecutionTimeMs: D,
  p95ExecutionTimeMs: Type.Number({ description: 'With a relative error of at most 4.5 percent.' }),
  byQueryType: Type.Record(S, Type.Object(Totals)),
  statements: Type.Array(
    Type.Object({ queryText: S, store: S, ...Totals, totalTimeMs: D, cacheHits: I, cacheMisses: I }),
    { description: 'Statements with the greatest total time.' },
  ),
  missingInstances: MissingInstances,
  collectedAt: TimestampSchema,
});

export const SlowQuery = Type.Object({
  queryType: S,
  executionTimeMs: D,
  executedAt: TimestampSchema,
  failed: B,
  rowCount: OptionalInteger,
  queryText: Type.String({ description: 'Parameterised text, without values.' }),
  correlationId: Type.String({
    description: `Value of X-Request-Id of the response. \`${NO_REQUEST}\`: the statement was not for a request.`,
  }),
  exceptionType: OptionalStringSchema,
  exceptionMessage: OptionalStringSchema,
  additionalMetrics: Type.Object({
    store: S,
    operation: OptionalStringSchema,
    instanceId: S,
    processId: I,
    threadId: I,
  }),
});

const STATEMENTS_NOTE =
  'Statements on PostgreSQL layers, SQLite files of layers and the state, of all processes since their start. Texts have no values.';

/** Statements of all processes. */
export const queries = group({ tag: 'Performance', scope: 'performance', envelope: 'raw' }, [
  report('GET /performance/database/query-cache/statistics', 'Get prepared statement cache statistics', {
    description:
      'Prepared statements of all processes. A hit is an execution with a statement that was prepared already.',
    data: Type.Object({
      preparedStatements: I,
      totalStatements: I,
      cacheHits: I,
      cacheMisses: I,
      hitRatio: D,
      cacheUtilization: Type.Number({ description: 'Kept statements / most that can be kept.' }),
      missingInstances: MissingInstances,
      collectedAt: TimestampSchema,
    }),
    async answer(_x, { reports }) {
      const { report: all, missing } = await reports.statements();
      const sum = (member: 'count' | 'hits' | 'misses') =>
        Math.min(
          MAX_INT,
          all.texts.reduce((total, one) => total + one[member], 0),
        );
      const [hits, misses] = [sum('hits'), sum('misses')];
      return {
        preparedStatements: all.prepared,
        totalStatements: sum('count'),
        cacheHits: hits,
        cacheMisses: misses,
        hitRatio: divide(hits, hits + misses),
        cacheUtilization: divide(all.prepared, all.capacity),
        missingInstances: missing,
        collectedAt: new Date().toISOString(),
      };
    },
  }),
  report(
    'GET /performance/enhanced/database/query-performance',
    'Get database query performance statistics',
    {
      description: STATEMENTS_NOTE,
      data: QueryPerformance,
      answer: async (_x, { reports }) => describeQueries(await reports.statements()),
    },
  ),
  report('GET /performance/enhanced/database/slow-queries', 'Get recent slow queries', {
    description:
      'Statements that took at least `observability.slowStatementMs`, newest first, of all processes. They are kept in memory.',
    params: {
      maxCount: defineIntegerParam(
        'maxCount',
        { min: 1, max: 200, default: 50 as number },
        { description: 'Maximum number of statements in the response.' },
      ),
    },
    data: Type.Object({
      totalCount: I,
      collectedAt: TimestampSchema,
      slowQueries: Type.Array(SlowQuery),
      missingInstances: MissingInstances,
    }),
    errors: [400],
    async answer({ params }, { reports }) {
      const { slow, missing } = await reports.statements();
      return {
        totalCount: slow.length,
        collectedAt: new Date().toISOString(),
        slowQueries: slow.slice(0, params.maxCount).map(describeSlow),
        missingInstances: missing,
      };
    },
  }),
]);

const divide = (part: number, total: number): number => (total === 0 ? 0 : part / total);

export function describeQueries({ report: all, missing }: ClusterStatements) {
  const tasks = Object.values(all.tasks);
  const count = sumOf(tasks, 'count');
  return {
    totalQueries: count,
    failedQueries: sumOf(tasks, 'failed'),
    slowQueries: sumOf(tasks, 'slow'),
    avgExecutionTimeMs: divide(sumOf(tasks, 'totalMs'), count),
    maxExecutionTimeMs: Math.max(0, ...tasks.map(({ maxMs }) => maxMs)),
    p95ExecutionTimeMs: estimateQuantile(all.durations, 0.95),
    byQueryType: groupByType(all.tasks),
    statements: [...all.texts]
      .sort((a, b) => b.totalMs - a.totalMs)
      .slice(0, MAX_STATEMENTS)
      .map((one) => ({
        ...{ queryText: one.text, store: one.store, ...describeTotals(one), totalTimeMs: one.totalMs },
        ...{ cacheHits: one.hits, cacheMisses: one.misses },
      })),
    missingInstances: missing,
    collectedAt: new Date().toISOString(),
  };
}

type SummedMember = Exclude<keyof StatementTotals, 'maxMs'>;

const sumOf = (totals: readonly StatementTotals[], member: SummedMember) =>
  totals.reduce((sum, one) => sum + one[member], 0);

function describeTotals({ count, failed, slow, totalMs, maxMs }: StatementTotals) {
  const times = { avgTimeMs: divide(totalMs, count), maxTimeMs: maxMs };
  return { count, failedCount: failed, slowCount: slow, ...times };
}

function groupByType(tasks: Readonly<Record<string, StatementTotals>>) {
  const types = new Map<string, StatementTotals[]>();
  for (const [name, totals] of Object.entries(tasks)) {
    const type = chooseType(name);
    types.set(type, [...(types.get(type) ?? []), totals]);
  }
  return Object.fromEntries(
    [...types].map(([type, parts]) => {
      const sum = {
        count: sumOf(parts, 'count'),
        failed: sumOf(parts, 'failed'),
        slow: sumOf(parts, 'slow'),
      };
      const times = { totalMs: sumOf(parts, 'totalMs'), maxMs: Math.max(...parts.map(({ maxMs }) => maxMs)) };
      return [type, describeTotals({ ...sum, ...times })];
    }),
  );
}

/** Kind of a query, by the task that sends it. */
const chooseType = (task: string): string => findQueryType(task as TaskName) ?? task;

export function describeSlow(one: InstanceStatement) {
  const { at, ms, store, text, task, request, rows, failure, pid, thread, instance } = one;
  return {
    queryType: store === 'state' ? 'state' : chooseType(task ?? 'other'),
    executionTimeMs: ms,
    executedAt: timestamp(at),
    failed: failure !== undefined,
    rowCount: rows ?? null,
    queryText: text,
    correlationId: request ?? NO_REQUEST,
    exceptionType: failure ?? null,
    exceptionMessage: failure === undefined ? null : `The database reported ${failure}.`,
    additionalMetrics: {
      store,
      operation: task ?? null,
      instanceId: instance,
      processId: pid,
      threadId: thread,
    },
  };
}
