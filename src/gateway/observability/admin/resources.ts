import Type from 'typebox';
import { defineIntegerParam } from '../../../core/http/params.js';
import type { ClusterResources, InstanceResource } from '../../../services/observability/process-reports.js';
import { OptionalStringSchema, TimestampSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';
import { timeSpan } from '../../jobs/admin/job-views.js';
import { MissingInstances } from './missing-instances.js';

const { action, report } = createRowBuilders(['reports']);

const S = Type.String();
const I = Type.Integer();

const LEAK_RULE =
  'A potential leak is a resource that is open although the task that opened or took it has ended, and that no cache keeps on purpose.';

export const ResourceTracking = Type.Object({
  trackedResources: I,
  disposedResources: I,
  potentialLeaks: I,
  oldestResourceAge: Type.Union([S, Type.Null()], { description: 'Duration `[d.]hh:mm:ss.fff`.' }),
  byResourceType: Type.Record(S, I),
  missingInstances: MissingInstances,
  collectedAt: TimestampSchema,
});

const Leak = Type.Object({
  resourceType: S,
  age: Type.String({ description: 'Duration `[d.]hh:mm:ss.fff` since it was opened.' }),
  trackedAt: TimestampSchema,
  isAlive: Type.Boolean({ description: 'Whether its object still exists in memory.' }),
  resourceHashCode: I,
  allocationContext: Type.String({ description: 'Task that opened or took it, and its name.' }),
  allocationStackTrace: OptionalStringSchema,
  correlationId: OptionalStringSchema,
  instanceId: S,
});

/** Open resources of the processes. */
export const resources = group({ tag: 'Performance', scope: 'performance', envelope: 'raw' }, [
  report('GET /performance/enhanced/resources/tracking', 'Get resource tracking statistics', {
    description:
      'Open GDAL datasets, SQLite and archive files, PostgreSQL connections, temporary folders, stream sessions and job leases of all processes.',
    data: ResourceTracking,
    answer: async (_x, { reports }) => describeResources(await reports.resources()),
  }),
  report('GET /performance/enhanced/resources/potential-leaks', 'Get potential resource leaks', {
    description: `${LEAK_RULE} The oldest come first.`,
    params: {
      maxResults: defineIntegerParam(
        'maxResults',
        { min: 1, max: 1000, default: 100 as number },
        { description: 'Maximum number of resources in the response.' },
      ),
    },
    data: Type.Object({
      totalCount: I,
      collectedAt: TimestampSchema,
      potentialLeaks: Type.Array(Leak),
      missingInstances: MissingInstances,
    }),
    errors: [400],
    async answer({ params }, { reports }) {
      const { leaks, missing } = await reports.resources();
      const now = Date.now();
      return {
        totalCount: leaks.length,
        collectedAt: timestamp(now),
        potentialLeaks: leaks.slice(0, params.maxResults).map((one) => describeLeak(one, now)),
        missingInstances: missing,
      };
    },
  }),
  action('POST /performance/enhanced/resources/scan-leaks', 'Scan for resource leaks', {
    description: `Reads the open resources of all processes again. ${LEAK_RULE} A scan does not close them.`,
    data: Type.Object({
      resourcesScanned: I,
      leaksDetected: I,
      resourcesGarbageCollected: Type.Integer({
        description: 'Resources that were collected without being closed, since the start of each process.',
      }),
      scanDuration: Type.String({ description: 'Duration `[d.]hh:mm:ss.fff`.' }),
      scannedAt: TimestampSchema,
      detectedLeaks: Type.Array(Leak),
      missingInstances: MissingInstances,
    }),
    async answer(_x, { reports }) {
      const began = performance.now();
      const { held, leaks, collected, missing } = await reports.resources();
      const now = Date.now();
      return {
        resourcesScanned: held.length,
        leaksDetected: leaks.length,
        resourcesGarbageCollected: collected,
        scanDuration: timeSpan(performance.now() - began),
        scannedAt: timestamp(now),
        detectedLeaks: leaks.map((one) => describeLeak(one, now)),
        missingInstances: missing,
      };
    },
  }),
]);

export function describeResources({ held, leaks, disposed, missing }: ClusterResources) {
  const now = Date.now();
  const byResourceType: Record<string, number> = {};
  for (const { kind } of held) byResourceType[kind] = (byResourceType[kind] ?? 0) + 1;
  const [oldest] = held;
  return {
    trackedResources: held.length,
    disposedResources: disposed,
    potentialLeaks: leaks.length,
    oldestResourceAge: oldest ? formatAge(oldest.since, now) : null,
    byResourceType,
    missingInstances: missing,
    collectedAt: timestamp(now),
  };
}

/** Clocks of servers differ. */
const formatAge = (since: number, now: number): string => timeSpan(Math.max(0, now - since));

function describeLeak({ id, kind, label, since, isAlive, owner, instance }: InstanceResource, now: number) {
  return {
    resourceType: kind,
    age: formatAge(since, now),
    trackedAt: timestamp(since),
    isAlive,
    resourceHashCode: hashText(id),
    allocationContext: `${owner?.task ?? 'unknown'}: ${label}`,
    allocationStackTrace: null,
    correlationId: owner?.request ?? null,
    instanceId: instance,
  };
}

/** FNV-1a as an int32, the same for each report of a resource. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash;
}
