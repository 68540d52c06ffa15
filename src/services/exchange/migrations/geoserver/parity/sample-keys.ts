import { equalsAny } from '../../../../../core/cql2/index.js';
import type { VectorSource } from '../../../../../core/sources/vector-source.js';
import type { Pools } from '../../../../../core/tasks/tasks.js';

/** Ids that GeoServer generates for features without a key. They differ in each request. */
const PASSING_ID = /(^|\.)fid-/;
/** Attributes that are tried, and characters of a value. */
const ATTRIBUTES = 10;
const CHARACTERS = 200;

/** Features of a source in a file. */
export interface FeatureSample {
  /** GeoJSON text sequence. */
  readonly path: string;
  readonly end: number;
  readonly count: number;
}

export interface SampleKey {
  /** Attribute of the collection. */
  readonly key: string;
  /** One for each feature of the sample. */
  readonly values: readonly (string | number)[];
}

/** Finds a key that distinguishes the features of a sample, in the source and in the collection. */
export class SampleKeys {
  constructor(
    private readonly pools: Pick<Pools, 'run'>,
    private readonly source: VectorSource,
    private readonly sample: FeatureSample,
    private readonly signal: AbortSignal,
  ) {}

  /** `idKey` is the attribute that an import makes of ids. */
  async find(idKey: string): Promise<SampleKey | undefined> {
    const { fields } = this.source;
    const byId = fields.some(({ name }) => name === idKey) ? await this.#ids(idKey) : undefined;
    if (byId) return byId;
    const attributes = fields.filter(
      ({ name, type }) => name !== idKey && (type === 'string' || type === 'integer'),
    );
    for (const { name } of attributes.slice(0, ATTRIBUTES)) {
      const values = await this.#values(name);
      if (this.#isDistinct(values) && (await this.#isKey(name, values))) return { key: name, values };
    }
    return undefined;
  }

  /** Values of an attribute with that name. It has priority over ids, as in the import. */
  async #ids(idKey: string): Promise<SampleKey | undefined> {
    const attributes = await this.#values(idKey);
    const values = attributes.length > 0 ? attributes : await this.#values();
    const isPassing = values.some((one) => typeof one === 'string' && PASSING_ID.test(one));
    return this.#isDistinct(values) && !isPassing ? { key: idKey, values } : undefined;
  }

  /** Values of the attribute. Default: the feature ids. */
  async #values(idProperty?: string): Promise<(string | number)[]> {
    const { path, end } = this.sample;
    const task = { path, begin: 0, end, idProperty };
    const texts = (await this.pools.run('ingest.pageIds', task, { signal: this.signal })) ?? [];
    return texts.flatMap((text): (string | number)[] => {
      const value = JSON.parse(text) as unknown;
      if (typeof value === 'number') return [value];
      return typeof value === 'string' && value.length <= CHARACTERS ? [value] : [];
    });
  }

  #isDistinct(values: readonly (string | number)[]): boolean {
    return values.length === this.sample.count && new Set(values).size === values.length;
  }

  /** Whether the collection has no value twice. */
  async #isKey(name: string, values: readonly (string | number)[]): Promise<boolean> {
    const task = { source: this.source, filter: equalsAny(name, values) };
    return (await this.pools.run('vector.count', task, { signal: this.signal })) <= values.length;
  }
}
