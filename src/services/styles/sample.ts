import { readable, type VectorCollection } from '../../core/catalog/collection.js';
import type { Field } from '../../core/sources/vector-source.js';
import type { FieldSample } from '../../core/styles/suggest/profile.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { parseJsonExactly } from '../../core/values/json.js';
import { runTask, type TaskContext } from '../kit/run-task.js';

/** Numbers of parts and rows that are read. Rows further back would take long to find. */
const PARTS = 4;
const PART_ROWS = 1000;
const FARTHEST = 200_000;
const PART_BYTES = 1_048_576;
/** Maximum number of attributes that are read. */
const MAX_FIELDS = 40;

const PLAIN: ReadonlySet<Field['type']> = new Set(['integer', 'number', 'string', 'boolean']);

/** Values of the plain attributes of a collection, in rows from its start, middle and end. */
export async function readFieldSamples(
  x: TaskContext,
  pools: Pools,
  collection: VectorCollection,
  always: string | undefined,
): Promise<FieldSample[]> {
  const { featureCount = 0, storageCrs } = collection;
  const { source, filter } = readable(collection);
  const plain = collection.source.fields.filter(({ type }) => PLAIN.has(type));
  const first = plain.filter(({ name }) => name === always);
  const fields = [...first, ...plain.filter(({ name }) => name !== always)].slice(0, MAX_FIELDS);
  const rows: Record<string, unknown>[] = [];
  for (const offset of offsetsIn(featureCount)) {
    const { features } = await runTask(x, pools, 'vector.items', {
      source,
      filter,
      format: 'geojson',
      crs: storageCrs.proj,
      swapAxes: false,
      precision: 0,
      fields: fields.map(({ name }) => name),
      skipGeometry: true,
      limit: PART_ROWS,
      offset,
      maxBytes: PART_BYTES,
    });
    const read = parseJsonExactly(`[${Buffer.from(features).toString('utf8')}]`, 'all') as {
      properties: Record<string, unknown>;
    }[];
    rows.push(...read.map(({ properties }) => properties));
  }
  return fields.map((field) => ({ field, values: rows.map((row) => row[field.name]) }));
}

function offsetsIn(count: number): number[] {
  if (count <= PARTS * PART_ROWS)
    return Array.from({ length: PARTS }, (_, i) => i * PART_ROWS).filter((at) => at === 0 || at < count);
  const last = Math.min(count, FARTHEST) - PART_ROWS;
  return Array.from({ length: PARTS }, (_, i) => Math.round((last * i) / (PARTS - 1)));
}
