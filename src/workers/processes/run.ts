import { setImmediate } from 'node:timers/promises';
import { and, bboxFilter } from '../../core/cql2/index.js';
import { TaskFailure } from '../../core/errors/failure.js';
import { type FeatureRow, findField, type RowsQuery } from '../../core/features/features.js';
import { around, type Box } from '../../core/geometry/box.js';
import type {
  FeatureFault,
  FeatureProcessOrder,
  ProcessFeatures,
} from '../../core/processes/feature-processes.js';
import { PROCESS_LIMITS } from '../../core/processes/limits.js';
import { hasIntegerIds, type VectorSource } from '../../core/sources/vector-source.js';
import { canonicalDigits, exactNumber } from '../../core/values/exact-number.js';
import type { GeometryResult } from '../../native/processing.js';
import { getFeatureStore } from '../providers/store.js';
import type { Cancellation } from '../threads/cancellation.js';
import { isPlace, readBlobBox } from './blob.js';
import type { Attribute } from './table.js';

/** Resources that each process can use while it runs. */
export class ProcessRun {
  readonly #count: Int32Array;
  #read = 0;
  #faults = 0;
  readonly #faultList: FeatureFault[] = [];
  /** Attributes of which a number was rounded. */
  readonly #rounded = new Set<string>();

  constructor(
    readonly task: FeatureProcessOrder,
    readonly cancellation?: Cancellation,
  ) {
    this.#count = new Int32Array(task.count);
  }

  /** Yields rows of features in batches. Rows of the input are counted. */
  async *rows(features: ProcessFeatures, geometry = true): AsyncGenerator<FeatureRow[]> {
    const numbers = this.attributesIn(features).flatMap(({ name, type }, at) =>
      type === 'number' ? [{ name, at }] : [],
    );
    const { process } = this.task;
    const keys = new Set('by' in process ? process.by : []);
    for await (const batch of this.batches(features, geometry)) {
      this.cancellation?.check();
      for (const { name, at } of numbers) this.#readNumbers(batch, name, at, keys.has(name));
      yield batch;
      // Native objects that the collector has let go of are destroyed when the event loop turns.
      await setImmediate();
      if (features === this.task.input) this.countRead(batch.length);
    }
  }

  /** Counts rows of the input. */
  countRead(rows: number): void {
    this.#read += rows;
    Atomics.store(this.#count, 0, this.#read);
  }

  protected batches(features: ProcessFeatures, geometry: boolean): AsyncIterable<FeatureRow[]> {
    const { process } = this.task;
    const groundMeasures = process.kind === 'measure' && process.measure.ground;
    const query = { ...buildRowsQuery(features, geometry), exact: true, groundMeasures };
    return getFeatureStore(features.source).rows(query, this.cancellation);
  }

  /** The attributes of the rows of features, in their order. */
  protected attributesIn(features: ProcessFeatures): readonly Attribute[] {
    return listProcessAttributes(features);
  }

  /** Decimals of a database come as text: processes compute with doubles, and compare keys by all digits. */
  #readNumbers(rows: readonly FeatureRow[], name: string, at: number, isKey: boolean): void {
    for (const { values } of rows) {
      const text = values[at];
      if (typeof text !== 'string') continue;
      const double = Number(text);
      const rounded = isRounded(text, double);
      if (rounded) this.#rounded.add(name);
      if (rounded && isKey) values[at] = exactNumber(canonicalDigits(text));
      else values[at] = Number.isFinite(double) || !/\d/.test(text) ? double : null;
    }
  }

  /** The geometry of a result; undefined, and the fault is kept, where there is none. */
  take(result: GeometryResult, id: FeatureRow['id'] | undefined): Uint8Array | null | undefined {
    if (typeof result !== 'string') return result;
    this.#faults++;
    if (this.#faultList.length < PROCESS_LIMITS.processFaults)
      this.#faultList.push({ ...(id === undefined ? {} : { id: String(id) }), reason: result });
    return undefined;
  }

  result(features: number) {
    return {
      features,
      read: this.#read,
      faults: this.#faults,
      faultList: this.#faultList,
      rounded: [...this.#rounded],
    };
  }
}

/** Digits of which a double keeps each. */
const SAFE_DIGITS = 15;

const isRounded = (text: string, double: number) =>
  text.length > SAFE_DIGITS && /\d/.test(text) && canonicalDigits(String(double)) !== canonicalDigits(text);

/** Failure of a process that creates a feature for each pair. */
export function tooManyPairs(): TaskFailure {
  return new TaskFailure('too-large', `There are more than ${PROCESS_LIMITS.processPairs} pairs.`);
}

/** Query for all rows of features. */
export function buildRowsQuery({ source, filter, fields }: ProcessFeatures, geometry: boolean): RowsQuery {
  const limit = Number.MAX_SAFE_INTEGER;
  return { source, filter, fields, geometry, limit };
}

/** Returns the attributes of features that a process copies. */
export function listProcessAttributes({ source, fields }: ProcessFeatures): Attribute[] {
  return fields.map((name) => ({ name, type: findField(source, name)!.type }));
}

/** Type of the attribute that the ids of a source become. */
export function getIdType(source: VectorSource): 'integer' | 'string' {
  return hasIntegerIds(source) ? 'integer' : 'string';
}

export const listGeometries = (rows: readonly FeatureRow[]) => rows.map(({ geometry }) => geometry);

/**
 * Returns the box around the geometries, which are GeoPackage blobs of the server. Geometries whose box is not finite
 * are skipped.
 */
export function computeGeometriesBox(rows: readonly Pick<FeatureRow, 'geometry'>[]): Box | undefined {
  let box: Box | undefined;
  for (const { geometry } of rows) {
    const own = readBlobBox(geometry);
    if (own && isPlace(own)) box = box ? around(box, own) : own;
  }
  return box;
}

/** The features whose envelope meets one of the boxes, in batches. */
export async function* batchesIn(
  run: ProcessRun,
  features: ProcessFeatures,
  boxes: readonly Box[],
): AsyncGenerator<FeatureRow[]> {
  const { source } = features;
  for (const box of boxes) {
    const filter = and(features.filter, bboxFilter(source.geometryColumn, box, source.crs));
    yield* run.rows({ ...features, filter });
  }
}

/** Returns the same rows in one array, each feature once. Throws `too-large`. */
export async function rowsIn(
  run: ProcessRun,
  features: ProcessFeatures,
  boxes: readonly Box[],
): Promise<FeatureRow[]> {
  const rows = new Map<FeatureRow['id'], FeatureRow>();
  for await (const batch of batchesIn(run, features, boxes)) {
    for (const row of batch) rows.set(row.id, row);
    if (rows.size > PROCESS_LIMITS.processWindow)
      throw new TaskFailure(
        'too-large',
        `More than ${PROCESS_LIMITS.processWindow} features are at one position.`,
      );
  }
  return [...rows.values()];
}
