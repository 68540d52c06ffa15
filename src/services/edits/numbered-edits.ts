import type { VectorCollection } from '../../core/catalog/collection.js';
import { useGeneratedIds, usesGeneratedIds } from '../../core/catalog/generated-ids.js';
import { equalsAny, type Scalar } from '../../core/cql2/index.js';
import type { EditOperation, EditOutcome, FeatureInput } from '../../core/edits/edits.js';
import { featureTexts } from '../../core/edits/feature-text.js';
import { CRS84 } from '../../core/geometry/crs.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Field } from '../../core/sources/vector-source.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { exactInteger } from '../../core/values/exact-number.js';
import { runTask, type TaskContext } from '../kit/run-task.js';

/** Edits of layers whose features are known by the numbers of their keys: stores edit by the keys. */

/** Number and key of a feature. */
type Pair = readonly [number: string, key: string];

/** A value that cannot be a key. It represents a missing feature. */
const NO_KEY = '\u0000';

/**
 * The operations with keys instead of numbers. Only the edit checks the caller's rights, so this step must reveal no
 * data.
 */
export async function keyedOperations(
  x: TaskContext,
  pools: Pools,
  layer: VectorCollection,
  operations: readonly EditOperation[],
): Promise<EditOperation[]> {
  if (!usesGeneratedIds(layer.source)) return [...operations];
  const { key } = layer.source.generatedIds!;
  const ids = operations.flatMap((one) => (one.type === 'create' ? [] : [one.id]));
  const keys = new Map(await listPairs(x, pools, layer, layer.source.idColumn, ids.map(exactInteger)));
  return operations.map((operation) => {
    if (operation.type === 'create') return { ...operation, ...newKey(operation.feature, key.name) };
    const id = keys.get(operation.id) ?? NO_KEY;
    if (operation.type === 'delete') return { ...operation, id };
    return { ...operation, id, feature: withoutKey(operation.feature, key, id) };
  });
}

/**
 * A new feature with its key removed from the attributes, if the client sent one. A key that is not a string is kept,
 * and the edit refuses it.
 */
function newKey(feature: FeatureInput, name: string): { id?: string; feature: FeatureInput } {
  const { [name]: json = 'null', ...values } = feature.values ?? {};
  const key = JSON.parse(json) as unknown;
  if (key === null || key === '') return { feature: { ...feature, values } };
  return typeof key === 'string' ? { id: key, feature: { ...feature, values } } : { feature };
}

/** A feature without its unchanged key. A changed key is kept, and the edit refuses it. */
function withoutKey(feature: FeatureInput, { name, sqlType }: Field, id: string): FeatureInput {
  const { [name]: json, ...values } = feature.values ?? {};
  const key = json === undefined ? undefined : (JSON.parse(json) as unknown);
  // UUIDs are the same in any case, texts are not.
  const text = sqlType === 'uuid' && typeof key === 'string' ? key.toLowerCase() : key;
  return text === undefined || text === id ? { ...feature, values } : feature;
}

/** The outcomes of operations by numbers, with numbers as ids. */
export async function numberedOutcomes(
  x: TaskContext,
  pools: Pools,
  layer: VectorCollection,
  { operations, outcomes }: { operations: readonly EditOperation[]; outcomes: readonly EditOutcome[] },
): Promise<EditOutcome[]> {
  if (!usesGeneratedIds(layer.source)) return [...outcomes];
  const isNew = (i: number) => operations[i]!.type === 'create';
  const keys = outcomes.flatMap((outcome, i) => (outcome.ok && isNew(i) ? [outcome.id] : []));
  // The new features exist even if their numbers cannot be read.
  const pairs = await listPairs(x, pools, layer, layer.source.generatedIds!.key.name, keys).catch(() => []);
  const numbers = new Map(pairs.map(([number, key]) => [key, number]));
  return outcomes.map((outcome, i) => {
    const { id } = operations[i]!;
    if (!outcome.ok)
      return outcome.reason === 'not-found' && id !== undefined
        ? { ...outcome, message: `There is no feature ${id}.` }
        : outcome;
    return { ...outcome, id: (isNew(i) ? numbers.get(outcome.id) : id) ?? NO_KEY };
  });
}

/** Numbers and keys of the features that have these numbers, or these keys. */
async function listPairs(
  x: TaskContext,
  pools: Pools,
  { source: visible, rule }: VectorCollection,
  column: string,
  values: readonly Scalar[],
): Promise<Pair[]> {
  const source = useGeneratedIds(rule?.stored ?? visible);
  const { name } = source.generatedIds!.key;
  const pairs: Pair[] = [];
  for (let from = 0; from < values.length; from += LIMITS.batchOperations) {
    const page = values.slice(from, from + LIMITS.batchOperations);
    const { features } = await runTask(x, pools, 'vector.items', {
      source,
      filter: equalsAny(column, page),
      fields: [name],
      skipGeometry: true,
      format: 'geojson',
      crs: CRS84.proj,
      swapAxes: false,
      precision: 7,
      limit: page.length,
      offset: 0,
    });
    for (const { id, properties } of featureTexts(features))
      pairs.push([id, (JSON.parse(properties) as Record<string, string>)[name]!]);
  }
  return pairs;
}
