import { TaskFailure } from '../../../core/errors/failure.js';
import type { FeatureRow } from '../../../core/features/features.js';
import { findField } from '../../../core/features/features.js';
import type { GeometryOperation } from '../../../core/geometry/geometry-operations.js';
import type { FeatureProcess } from '../../../core/processes/feature-processes.js';
import { PROCESS_LIMITS } from '../../../core/processes/limits.js';
import { GeometryUnion, geometryParts, processGeometries } from '../../../native/processing.js';
import { StatisticsGroup } from '../../features/analytics/statistics.js';
import { listGeometries, type ProcessRun } from '../run.js';
import { distinct, FeatureTable, type TableValue } from '../table.js';
import { ValueGroups } from './groups.js';
import { statisticAttributes } from './statistics.js';

type Dissolve = Extract<FeatureProcess, { kind: 'dissolve' }>;

interface DissolveGroup {
  values: FeatureRow['values'];
  union: GeometryUnion;
  statistics: StatisticsGroup;
}

/** A feature for each group of equal values, in the order of their first features. */
export async function dissolveFeatures(run: ProcessRun, process: Dissolve): Promise<number> {
  const { input, output } = run.task;
  const { source, fields } = input;
  const groups = await listGroups(run, process);
  const type = (name: string) => findField(source, name)!.type;
  const attributes = distinct([
    ...process.by.map((name) => ({ name, type: type(name) })),
    { name: 'featureCount', type: 'integer' as const },
    ...statisticAttributes(source, process.statistics),
  ]);
  const table = FeatureTable.create(output, source.crs, attributes);
  const place = new Map(fields.map((name, i) => [name, i]));
  try {
    for (const { values, union, statistics } of groups) {
      run.cancellation?.check();
      const numbers = statistics.properties();
      const row: TableValue[] = [
        ...process.by.map((name) => values[place.get(name)!]),
        statistics.count,
        ...process.statistics.map(({ name }) => numbers[name]),
      ];
      const geometry = union.take(table.srsId);
      const parts = process.parts && geometry ? geometryParts([geometry], table.srsId).parts : [geometry];
      for (const part of parts) table.add(part, row);
    }
    return table.finish();
  } finally {
    table.abandon();
  }
}

async function listGroups(
  run: ProcessRun,
  { by, statistics, operation }: Dissolve,
): Promise<Iterable<DissolveGroup>> {
  const { input } = run.task;
  const place = new Map(input.fields.map((name, i) => [name, i]));
  const groups = new ValueGroups<DissolveGroup>(statistics.length);
  let bytes = 0;
  for await (const rows of run.rows(input)) {
    const batches = new Map<DissolveGroup, (Uint8Array | null)[]>();
    const geometries = operation ? listResults(run, rows, operation) : listGeometries(rows);
    for (const [i, row] of rows.entries()) {
      const geometry = geometries[i];
      if (geometry === undefined) continue;
      bytes += geometry?.byteLength ?? 0;
      const group = groups.of(
        by.map((name) => row.values[place.get(name)!]!),
        () => ({
          values: row.values,
          union: new GeometryUnion(),
          statistics: new StatisticsGroup(statistics),
        }),
      );
      group.statistics.add((field) => row.values[place.get(field)!]!);
      const batch = batches.get(group);
      if (batch) batch.push(geometry);
      else batches.set(group, [geometry]);
    }
    for (const [{ union }, blobs] of batches) unite(union, blobs);
    // Several unions contain about as many bytes as their inputs.
    if (groups.size > 1 && bytes > PROCESS_LIMITS.processGroupBytes)
      throw new TaskFailure(
        'too-large',
        `Geometries of more than ${PROCESS_LIMITS.processGroupBytes} bytes cannot be dissolved into several groups.`,
      );
  }
  return groups.all();
}

/** Returns the results. Undefined if there are none; the fault is reported. */
function listResults(run: ProcessRun, rows: readonly FeatureRow[], operation: GeometryOperation) {
  const { crs } = run.task.input.source;
  const results = processGeometries(listGeometries(rows), operation, { crs, target: crs, srsId: 0 });
  return results.map((result, i) => run.take(result, rows[i]!.id));
}

function unite(union: GeometryUnion, blobs: (Uint8Array | null)[]): void {
  try {
    union.add(blobs);
  } catch (error) {
    throw new TaskFailure('invalid-input', `Geometries cannot be united: ${(error as Error).message}`);
  }
}
