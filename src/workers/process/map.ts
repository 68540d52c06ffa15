import { freeName } from '../../core/column-names.js';
import type { FeatureProcess } from '../../core/feature-processes.js';
import type { FeatureRow } from '../../core/features.js';
import { hasIntegerIds } from '../../core/vector-source.js';
import { geometryParts, processGeometries } from '../../native/processing.js';
import { attributesOf, geometriesOf, idTypeOf, type Run } from './run.js';
import { FeatureTable } from './table.js';

type MapProcess = Extract<FeatureProcess, { kind: 'map' }>;

/** Each feature for itself. Integer ids stay, others become an attribute; parts of a feature get ids of their own. */
export async function mapFeatures(run: Run, { operation, parts = false, crs }: MapProcess): Promise<number> {
  const { input, output } = run.task;
  const { source } = input;
  const keepsIds = hasIntegerIds(source) && !parts;
  const attributes = attributesOf(input);
  const taken = new Set(attributes.map(({ name }) => name.toLowerCase()));
  const idAttribute = keepsIds
    ? []
    : [{ name: freeName(source.idColumn, taken), type: idTypeOf(source) } as const];
  const table = FeatureTable.create(output, crs ?? source.crs, [...idAttribute, ...attributes]);
  const planes = { crs: source.crs, target: table.crs, srsId: table.srsId };
  const add = (geometry: Uint8Array | null, { id, values }: FeatureRow) =>
    keepsIds ? table.add(geometry, values, id as number) : table.add(geometry, [id, ...values]);
  try {
    for await (const rows of run.rows(input)) {
      const results = processGeometries(geometriesOf(rows), operation, planes);
      const geometries = rows.map(({ id }, i) => run.take(results[i]!, id));
      if (parts) addParts(rows, geometries, table.srsId, add);
      else {
        for (const [i, row] of rows.entries()) {
          const geometry = geometries[i];
          if (geometry) add(geometry, row);
        }
      }
    }
    return table.finish();
  } finally {
    table.abandon();
  }
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
