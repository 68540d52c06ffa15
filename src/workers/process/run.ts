import { around, type Box } from '../../core/box.js';
import { bboxFilter } from '../../core/cql2/index.js';
import { TaskFailure } from '../../core/failure.js';
import type { FeatureFault, FeatureProcessTask, ProcessFeatures } from '../../core/feature-processes.js';
import type { FeatureRow } from '../../core/features.js';
import { fieldOf } from '../../core/features.js';
import { LIMITS } from '../../core/limits.js';
import type { Processed } from '../../native/processing.js';
import type { Cancellation } from '../cancellation.js';
import { storeOf } from '../providers/store.js';
import { boxOf } from './blob.js';
import type { Attribute } from './table.js';

/** What every process has at hand while it runs. */
export class Run {
  readonly #count: Int32Array;
  #read = 0;
  #faults = 0;
  readonly #faultList: FeatureFault[] = [];

  constructor(
    readonly task: FeatureProcessTask,
    readonly cancellation?: Cancellation,
  ) {
    this.#count = new Int32Array(task.count);
  }

  /** Rows of features in batches; those of the input are counted. */
  async *rows(features: ProcessFeatures): AsyncGenerator<FeatureRow[]> {
    const { source, filter, fields } = features;
    const query = {
      source,
      ...(filter ? { filter } : {}),
      fields,
      geometry: true,
      limit: Number.MAX_SAFE_INTEGER,
    };
    for await (const batch of storeOf(source).rows(query, this.cancellation)) {
      this.cancellation?.check();
      yield batch;
      if (features !== this.task.input) continue;
      this.#read += batch.length;
      Atomics.store(this.#count, 0, this.#read);
    }
  }

  /** The geometry of a result; undefined, and the fault is kept, where there is none. */
  take(result: Processed, id: FeatureRow['id'] | undefined): Uint8Array | null | undefined {
    if (typeof result !== 'string') return result;
    this.#faults++;
    if (this.#faultList.length < LIMITS.processFaults)
      this.#faultList.push({ ...(id === undefined ? {} : { id: String(id) }), reason: result });
    return undefined;
  }

  result(features: number) {
    return { features, read: this.#read, faults: this.#faults, faultList: this.#faultList };
  }
}

/** The attributes of features that a process takes over. */
export function attributesOf({ source, fields }: ProcessFeatures): Attribute[] {
  return fields.map((name) => ({ name, type: fieldOf(source, name)!.type }));
}

export const geometriesOf = (rows: readonly FeatureRow[]) => rows.map(({ geometry }) => geometry);

/** The features whose envelope may meet that of some of the rows. */
export async function windowOf(
  run: Run,
  rows: readonly FeatureRow[],
  others: ProcessFeatures,
): Promise<FeatureRow[]> {
  let box: Box | undefined;
  for (const { geometry } of rows) {
    const own = boxOf(geometry);
    if (own) box = box ? around(box, own) : own;
  }
  if (!box) return [];
  const { source } = others;
  const near: FeatureRow[] = [];
  const filter = bboxFilter(source.geometryColumn, box, source.crs);
  for await (const batch of run.rows({ ...others, filter })) {
    for (const row of batch) near.push(row);
    if (near.length > LIMITS.processWindow)
      throw new TaskFailure('too-large', `More than ${LIMITS.processWindow} features lie in one place.`);
  }
  return near;
}
