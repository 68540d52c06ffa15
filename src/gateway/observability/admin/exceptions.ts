import Type from 'typebox';
import { defineIntegerParam } from '../../../core/http/params.js';
import { LOG_EVENTS } from '../../../core/kit/log-events.js';
import {
  EXCEPTION_SEVERITIES,
  type ExceptionRecord,
  getCategory,
  RATE_MINUTES,
} from '../../../services/observability/exceptions.js';
import type { Services } from '../../admin/deps.js';
import { OptionalStringSchema, TimestampSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';
import { enumeration } from '../../admin/params.js';
import { MissingInstances } from './missing-instances.js';

const { report } = createRowBuilders(['observer']);

const S = Type.String();
const I = Type.Integer();
const B = Type.Boolean();
const Counts = Type.Record(Type.String(), I);
const MOST_COMMON = 10;

const ExceptionSchema = Type.Object({
  id: S,
  exceptionType: S,
  message: S,
  occurredAt: TimestampSchema,
  operationType: OptionalStringSchema,
  requestPath: OptionalStringSchema,
  correlationId: OptionalStringSchema,
  stackTrace: OptionalStringSchema,
  properties: Type.Object({ event: S, instanceId: S }),
  classification: Type.Object({
    category: Type.String({
      description: 'The part of the server: the first word of the kind of the log line.',
    }),
    subcategory: OptionalStringSchema,
    severity: Type.Integer({ minimum: 1, maximum: 4 }),
    isRecoverable: B,
    shouldAlert: B,
    rateLimitKey: OptionalStringSchema,
  }),
});

export const ExceptionStatistics = Type.Object({
  totalExceptions: I,
  criticalExceptions: I,
  exceptionsPerMinute: Type.Number(),
  byCategory: Counts,
  bySeverity: Counts,
  mostCommonTypes: Type.Array(Type.Object({ exceptionType: S, count: I, lastOccurred: TimestampSchema })),
  missingInstances: MissingInstances,
  collectedAt: TimestampSchema,
});

/** Exceptions of the processes of the server. */
export const exceptions = group({ tag: 'Performance', scope: 'performance', envelope: 'raw' }, [
  report('GET /performance/enhanced/exceptions/statistics', 'Get exception statistics', {
    description: `Numbers since the start of each process. The rate is of the last ${RATE_MINUTES} minutes.`,
    data: ExceptionStatistics,
    answer: (_x, { observer }) => describeExceptions(observer),
  }),
  report('GET /performance/enhanced/exceptions/recent', 'Get recent exceptions', {
    description: 'Newest first, of all processes. They are kept in memory.',
    params: {
      maxCount: defineIntegerParam(
        'maxCount',
        { min: 1, max: 500, default: 100 as number },
        { description: 'Maximum number of exceptions in the response.' },
      ),
      severity: enumeration('severity', EXCEPTION_SEVERITIES, 'Only exceptions of this severity.'),
    },
    data: Type.Object({
      totalCount: I,
      collectedAt: TimestampSchema,
      exceptions: Type.Array(ExceptionSchema),
      missingInstances: MissingInstances,
    }),
    errors: [400],
    async answer({ params }, { observer }) {
      const { items, missing } = await observer.exceptions(params.severity);
      return {
        totalCount: items.length,
        collectedAt: new Date().toISOString(),
        exceptions: items.slice(0, params.maxCount).map(exceptionView),
        missingInstances: missing,
      };
    },
  }),
]);

/** Numbers of exceptions of all processes since their start. */
export async function describeExceptions(observer: Services<'observer'>['observer']) {
  const { counts, missing } = await observer.exceptionCounts();
  const { bySeverity, byCategory, types, recentCount } = counts;
  return {
    totalExceptions: Object.values(bySeverity).reduce((sum, count) => sum + count, 0),
    criticalExceptions: bySeverity.Critical,
    exceptionsPerMinute: recentCount / RATE_MINUTES,
    byCategory,
    bySeverity,
    mostCommonTypes: types.slice(0, MOST_COMMON).map(({ type, count, lastAt }) => ({
      exceptionType: type,
      count,
      lastOccurred: timestamp(lastAt),
    })),
    missingInstances: [...missing],
    collectedAt: new Date().toISOString(),
  };
}

function exceptionView(record: ExceptionRecord) {
  const severity = EXCEPTION_SEVERITIES.indexOf(record.severity) + 1;
  return {
    id: record.id,
    exceptionType: record.type,
    message: record.message,
    occurredAt: timestamp(record.at),
    operationType: record.operation ?? null,
    requestPath: record.path ?? null,
    correlationId: record.correlationId ?? null,
    stackTrace: record.stack,
    properties: { event: record.event, instanceId: record.instance },
    classification: {
      category: getCategory(record.event),
      subcategory: record.event,
      severity,
      // The server repeats the work of a warning.
      isRecoverable: LOG_EVENTS[record.event].level === 'Warning',
      shouldAlert: record.severity === 'High' || record.severity === 'Critical',
      rateLimitKey: `${record.event}:${record.type}`,
    },
  };
}
