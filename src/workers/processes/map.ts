import type { FeatureRow } from '../../core/features/features.js';
import type { FeatureProcess } from '../../core/processes/feature-processes.js';
import { hasIntegerIds } from '../../core/sources/vector-source.js';
import { findFreeName, namesInUse } from '../../core/values/column-names.js';
import { geometryParts, processGeometries } from '../../native/processing.js';
import { getFeatureStore } from '../providers/store.js';
import { mapByStatement } from './map-statement.js';
import { buildRowsQuery, getIdType, listGeometries, listProcessAttributes, type ProcessRun } from './run.js';
import { type Attribute, distinct, FeatureTable, type TableValue } from './table.js';

type MapProcess = Extract<FeatureProcess, { kind: 'map' }>;

/** Attributes that features get. */
export interface Addition {
  attributes: readonly Attribute[];
  /** Their values for each row of a batch; undefined leaves the feature out. Rows whose geometry is a fault do not come. */
  valuesOf(rows: readonly FeatureRow[]): (TableValue[] | undefined)[];
}

/**
 * Processes each feature separately. Integer ids remain; other ids become an attribute. Parts of a feature get new
 * ids. With an addition, features without a geometry also remain.
 */
export async function mapFeatures(
  run: ProcessRun,
  { operation, parts = false, crs }: MapProcess,
  addition?: Addition,
): Promise<number> {
  const { input, output } = run.task;
  const { source } = input;
  const keepsIds = hasIntegerIds(source) && !parts;
  const attributes = distinct([...listProcessAttributes(input), ...(addition?.attributes ?? [])]);
  const taken = namesInUse(attributes);
  const idAttribute = keepsIds
    ? []
    : [{ name: findFreeName(source.idColumn, taken), type: getIdType(source) } as const];
  const columns =
    addition || parts ? undefined : getFeatureStore(source).columns?.(buildRowsQuery(input, true));
  const table = FeatureTable.create(output, crs ?? source.crs, [...idAttribute, ...attributes], {
    ...(columns ? { source: columns.path } : {}),
  });
  const planes = { crs: source.crs, target: table.crs, srsId: table.srsId };
  const add = (geometry: Uint8Array | null, { id, values }: OutputRow) =>
    keepsIds ? table.add(geometry, values, id as number) : table.add(geometry, [id, ...values]);
  try {
    if (columns) {
      await mapByStatement(run, operation, table, { planes, columns });
      return table.finish();
    }
    for await (const rows of run.rows(input)) {
      const results = processGeometries(listGeometries(rows), operation, planes);
      const geometries = rows.map(({ id }, i) => run.take(results[i]!, id));
      if (parts) {
        addParts(rows, geometries, table.srsId, add);
        continue;
      }
      const features = rows.flatMap((row, i) => {
        const geometry = geometries[i];
        return geometry === undefined || (geometry === null && !addition) ? [] : [{ row, geometry }];
      });
      const extra = addition?.valuesOf(features.map(({ row }) => row));
      for (const [i, { row, geometry }] of features.entries()) {
        const values = extra ? extra[i] : [];
        if (values) add(geometry, { id: row.id, values: [...row.values, ...values] });
      }
    }
    return table.finish();
  } finally {
    table.abandon();
  }
}

/** A row with the values that its feature gets. */
interface OutputRow {
  id: FeatureRow['id'];
  values: readonly TableValue[];
}

function addParts(
  rows: readonly FeatureRow[],
  geometries: readonly (Uint8Array | null | undefined)[],
  srsId: number,
  add: (geometry: Uint8Array, row: FeatureRow) => void,
): void {
  const { owners, parts } = geometryParts(
    geometries.map((geometry) => geometry ?? null),
    srsId,
  );
  for (const [i, part] of parts.entries()) add(part, rows[owners[i]!]!);
}
