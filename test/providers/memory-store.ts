import { createHash } from 'node:crypto';
import type { Feature, FeatureCollection } from 'geojson';
import { TaskFailure } from '../../src/core/errors/failure.js';
import type {
  FeatureOutput,
  FeatureQuery,
  FeatureRow,
  ItemsTask,
  PageKey,
  SortKey,
} from '../../src/core/features/features.js';
import { around, type Box, boxesTouch, computeEnvelope } from '../../src/core/geometry/box.js';
import { type Field, fieldsNamed, type VectorSource } from '../../src/core/sources/vector-source.js';
import { geojsonToWkb, geometryToGeoJSON, LayerEncoder } from '../../src/native/index.js';
import { measuredIn } from '../../src/workers/edits/domain.js';
import { match } from '../../src/workers/features/match.js';
import type { FeatureStore } from '../../src/workers/providers/feature-store.js';
import { layerOptions } from '../../src/workers/providers/layer-options.js';
import { tileWindow } from '../../src/workers/providers/window.js';

/** The smallest whole store: GeoJSON in memory, by table, in CRS84; ids are integers. It is read only. */

const CRS = 'OGC:CRS84';

type Value = string | number | boolean | null;
type Row = Feature & { id: number };

function sourceOf(table: string, fields: readonly Field[]): VectorSource {
  return {
    kind: 'memory',
    table,
    geometryColumn: 'geom',
    geometryType: 'Geometry',
    hasZ: false,
    idColumn: 'fid',
    idGenerated: true,
    hasIndex: true,
    crs: CRS,
    fields: [...fields],
    writable: false,
  };
}

export interface MemoryTable {
  fields: readonly Field[];
  features: FeatureCollection['features'];
}

export function memoryStore(tables: ReadonlyMap<string, MemoryTable>): FeatureStore {
  const rowsOf = ({ source, filter }: FeatureQuery): Row[] => {
    const features = (tables.get(source.table)?.features ?? []) as Row[];
    return filter === undefined ? features : passing(features, source, filter);
  };
  return {
    inspect: () =>
      [...tables].map(([table, { fields, features }]) => ({
        source: sourceOf(table, fields),
        featureCount: features.length,
        cursor: 0,
      })),
    items: async (task) => {
      const page = pageOf(rowsOf(task), task);
      const texts = page.rows.map((row) => written(row, task.source, task));
      return {
        features: Buffer.from(texts.join(',')),
        returned: texts.length,
        more: page.more,
        ...(page.rows.length > 0
          ? { first: keyOf(page.rows[0]!, task.sort), last: keyOf(page.rows.at(-1)!, task.sort) }
          : {}),
      };
    },
    item: async (task) => {
      const row = rowsOf(task).find(({ id }) => String(id) === task.id);
      if (!row) return null;
      const nameOf = (text: string) => createHash('sha1').update(text).digest('hex').slice(0, 16);
      const data = written(row, task.source, task);
      const name = nameOf(JSON.stringify(row));
      return { data: Buffer.from(data), row: name, shown: task.fields ? nameOf(data) : name };
    },
    count: async (task) => Math.min(rowsOf(task).length, task.atMost ?? Number.POSITIVE_INFINITY),
    tileLayer: async (task, layer) => {
      const { source } = layer;
      const fields = fieldsNamed(source, layer.fields);
      const encoder = new LayerEncoder(layerOptions(task, layer, source.crs, fields));
      const near = touching(rowsOf(layer), tileWindow(source, task));
      encoder.add(near.map((row) => [row.id, wkbOf(row), ...valuesOf(row, fields)] as const));
      const tile = encoder.finish();
      return { tile, features: encoder.features, dropped: encoder.dropped, work: 0 };
    },
    occupied: async (source, boxes) =>
      boxes.map((box) => touching(rowsOf({ filter: undefined, source }), box).length > 0),
    extent: async (query) => {
      const boxes = rowsOf(query).flatMap(({ geometry }) => {
        const box = computeEnvelope(geometry);
        return box ? [box] : [];
      });
      return measuredIn(boxes.length === 0 ? undefined : boxes.reduce(around), query.source.crs);
    },
    async *rows(query): AsyncGenerator<FeatureRow[]> {
      const fields = query.fields.map((name) => query.source.fields.find((field) => field.name === name)!);
      yield rowsOf(query)
        .slice(0, query.limit)
        .map((row) => ({
          id: row.id,
          geometry: query.geometry ? wkbOf(row) : null,
          values: valuesOf(row, fields),
        }));
    },
    edit: async () => {
      throw new TaskFailure('invalid-input', 'It is read only.');
    },
    events: async () => ({ events: [], newest: 0 }),
  };
}

/** What filters mean is what they mean for events: they are asked for with the same SQL. */
function passing(rows: Row[], source: VectorSource, filter: FeatureQuery['filter']): Row[] {
  const { idColumn, geometryColumn, fields } = source;
  const { passed, problems } = match({
    schema: { idColumn, geometryColumn, fields },
    filters: [JSON.stringify(filter)],
    images: rows.map(({ id, geometry, properties }) => ({
      id: String(id),
      geometry: geometry && JSON.stringify(geometry),
      attributes: JSON.stringify(properties),
    })),
  });
  if (problems[0]) throw new TaskFailure('invalid-input', problems[0]);
  return rows.filter((_, i) => passed[i] === 1);
}

function pageOf(all: Row[], task: ItemsTask): { rows: Row[]; more: boolean } {
  const { sort = [], after, before, offset, limit } = task;
  const sorted = all.toSorted((a, b) => inOrder(keyOf(a, sort), keyOf(b, sort), sort));
  if (before) {
    const earlier = sorted.filter((row) => inOrder(keyOf(row, sort), before, sort) < 0);
    return { rows: earlier.slice(-limit), more: earlier.length > limit };
  }
  const later = after ? sorted.filter((row) => inOrder(keyOf(row, sort), after, sort) > 0) : sorted;
  const rows = later.slice(offset, offset + limit);
  const fitting = rows.slice(0, fill(rows, task));
  return { rows: fitting, more: later.length > offset + fitting.length };
}

/** How many features a page has when it ends with the one that reaches its most bytes. */
function fill(rows: readonly Row[], task: ItemsTask): number {
  let bytes = 0;
  const last = rows.findIndex((row) => {
    bytes += written(row, task.source, task).length;
    return bytes >= (task.maxBytes ?? Number.POSITIVE_INFINITY);
  });
  return last < 0 ? rows.length : last + 1;
}

function keyOf({ id, properties }: Row, sort: readonly SortKey[] = []): PageKey {
  return {
    values: sort.map(({ field }) => (field === 'fid' ? id : (properties?.[field] ?? null))),
    id: `${id}`,
  };
}

function inOrder(a: PageKey, b: PageKey, sort: readonly SortKey[]): number {
  for (const [i, { descending }] of sort.entries()) {
    const order = compare(a.values[i]!, b.values[i]!);
    if (order !== 0) return descending ? -order : order;
  }
  return Number(a.id) - Number(b.id);
}

/** NULL is greater than all values. */
function compare(a: Value, b: Value): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return a < b ? -1 : Number(a > b);
}

function touching(rows: readonly Row[], box: Box): Row[] {
  return rows.filter(({ geometry }) => {
    const own = computeEnvelope(geometry);
    return own !== undefined && boxesTouch(own, box);
  });
}

const wkbOf = ({ geometry }: Row): Buffer | null =>
  geometry && geojsonToWkb(geometry, { from: CRS, to: CRS });

const valuesOf = ({ properties }: Row, fields: readonly Field[]): Value[] =>
  fields.map(({ name }) => properties?.[name] ?? null);

function written(row: Row, source: VectorSource, output: FeatureOutput): string {
  if (output.format !== 'geojson') throw new TaskFailure('invalid-input', 'It writes GeoJSON alone.');
  const { crs, precision, swapAxes, skipGeometry } = output;
  const wkb = skipGeometry ? null : wkbOf(row);
  const geometry = wkb && geometryToGeoJSON(wkb, { from: source.crs, to: crs, precision, swap: swapAxes });
  const fields = fieldsNamed(source, output.fields);
  const properties = Object.fromEntries(fields.map(({ name }) => [name, row.properties?.[name] ?? null]));
  return `{"type":"Feature","id":${row.id},"geometry":${geometry},"properties":${JSON.stringify(properties)}}`;
}
