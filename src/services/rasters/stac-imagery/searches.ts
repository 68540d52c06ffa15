import { TaskFailure } from '../../../core/errors/failure.js';
import { RASTER_LIMITS } from '../../../core/rasters/limits.js';
import type { BandInfo, RasterInfo, RasterSource } from '../../../core/rasters/rasters.js';
import type { Scene, SceneSearch, SceneSearchTask } from '../../../core/stac/stac-scenes.js';
import { type StacSource, stacSource } from '../../../core/stac/stac-source.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { commonCrs, mergedSample, renewAddresses, sceneRaster } from './mosaic.js';
import { searchInTurn } from './search-turns.js';

/** Interval for finding sources with an old search, in milliseconds. */
const LOOK_MS = 5000;
/** Milliseconds before a failed source is searched again. */
const FAILED_MS = 60_000;
const INSPECT_DEADLINE_MS = 60_000;
/** Scenes that are tried until one can be read. */
const TRIES = 8;

/** Number of scenes in the sample of a source whose scenes are searched for each window. */
const SAMPLE_SCENES = 20;

/** Result of the last search of a STAC API source. */
export interface Imagery {
  readonly source: StacSource;
  readonly search: SceneSearch;
  /** Metadata of one of its scenes, whose pixels define the pixels of the mosaic. */
  readonly sample: RasterInfo;
  /** Stamp of the scene that was read last to see whether the bands are still these. */
  readonly sampleStamp: string;
  /** Bands of the mosaic. */
  readonly bands: readonly BandInfo[];
  /** CRS of the mosaic. It never changes after the first search. */
  readonly crs: string;
}

type ImagerySample = Pick<Imagery, 'sample' | 'sampleStamp' | 'bands'>;

interface Entry {
  readonly imagery: Imagery;
  /** When it is searched again. */
  due: number;
}

interface Failure {
  readonly error: unknown;
  readonly until: number;
}

/** Imagery sources of STAC APIs. They are searched when they are published, and again at an interval. */
export class StacImagery {
  readonly #entries = new Map<string, Entry>();
  readonly #failures = new Map<string, Failure>();
  /** Searches that are made now. */
  readonly #searches = new Map<string, Promise<Imagery>>();
  readonly #pools: Pick<Pools, 'run'>;
  /** Addresses whose results may be kept. Undefined before the first `keep`: all. */
  #addresses: ReadonlySet<string> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(pools: Pick<Pools, 'run'>) {
    this.#pools = pools;
  }

  /** Removes results of former sources. */
  keep(addresses: readonly string[]): void {
    this.#addresses = new Set(addresses);
    for (const map of [this.#entries, this.#failures, this.#searches])
      for (const address of map.keys()) if (!this.#isSource(address)) map.delete(address);
  }

  #isSource(address: string): boolean {
    return this.#addresses?.has(address) ?? true;
  }

  /**
   * Result of the last search of a source. If there is none, the source is searched now. Rejects with `TaskFailure`.
   */
  async read(address: string): Promise<Imagery> {
    const source = stacSource(address);
    const before = this.#entries.get(address);
    if (before) return before.imagery;
    const failure = this.#failures.get(address);
    if (failure && failure.until > Date.now()) throw failure.error;
    return this.#search(source);
  }

  /** Searches a source once for all concurrent callers. */
  #search(source: StacSource): Promise<Imagery> {
    const { address } = source;
    const running = this.#searches.get(address);
    if (running) return running;
    const search = this.#searched(source);
    this.#searches.set(address, search);
    const end = (remember: () => void) => {
      // Another search can have started, or the source can have been removed.
      if (this.#searches.get(address) !== search) return;
      this.#searches.delete(address);
      if (this.#isSource(address)) remember();
    };
    search.then(
      (imagery) =>
        end(() => {
          this.#failures.delete(address);
          this.#entries.set(address, { imagery, due: Date.now() + source.refreshMs });
        }),
      (error: unknown) =>
        end(() => {
          const before = this.#entries.get(address);
          // The former result is kept, and the next search is after the same interval.
          if (before) before.due = Date.now() + source.refreshMs;
          else this.#failures.set(address, { error, until: Date.now() + FAILED_MS });
        }),
    );
    return search;
  }

  async #searched(source: StacSource): Promise<Imagery> {
    const before = this.#entries.get(source.address)?.imagery;
    const search = await searchInTurn(this.#pools, {
      ...createSceneSearchTask(source),
      ...(source.search === 'window' && { isDescribed: true, maxScenes: SAMPLE_SCENES }),
    });
    if (search.scenes.length === 0) {
      // All that there was may have been withdrawn.
      if (before && search.refused === 0) return { ...before, search };
      throw nothing(search);
    }
    const sampled = await this.#sampled(source, search, before);
    const crs = before?.crs ?? source.crs ?? commonCrs({ source, search, ...sampled });
    const isSame = before && sceneStamp(before.search.scenes) === sceneStamp(search.scenes);
    if (isSame) renewAddresses(source, before.search.scenes, search);
    const { scenes } = isSame ? before.search : search;
    return { ...sampled, source, search: { ...search, scenes }, crs };
  }

  /** The former sample scene while it exists. Otherwise another scene, if its bands differ. */
  async #sampled(
    source: StacSource,
    search: SceneSearch,
    before: Imagery | undefined,
  ): Promise<ImagerySample> {
    if (before && search.scenes.some((scene) => sceneStamp([scene]) === before.sampleStamp)) return before;
    try {
      const { sample, scene } = await this.#sample(source, search);
      const sampleStamp = sceneStamp([scene]);
      // Pixels do not move when scenes come and go.
      if (before && formatTypes(before.sample) === formatTypes(sample)) return { ...before, sampleStamp };
      return { sample, sampleStamp, bands: await this.#bands({ source, search, sample }) };
    } catch (error) {
      if (!before) throw error;
      return before;
    }
  }

  /** The first scene that can be read. */
  async #sample(source: StacSource, { scenes }: SceneSearch): Promise<{ sample: RasterInfo; scene: Scene }> {
    let failure: unknown;
    for (const scene of scenes.slice(0, TRIES)) {
      try {
        return { sample: await this.#inspect(sceneRaster(source, scene)), scene };
      } catch (error) {
        failure ??= error;
      }
    }
    throw failure;
  }

  /** Bands of the sample. If values are merged, the bands after the merge. */
  async #bands(imagery: Pick<Imagery, 'source' | 'search' | 'sample'>): Promise<readonly BandInfo[]> {
    const merged = mergedSample(imagery);
    return merged ? (await this.#inspect(merged)).bands : imagery.sample.bands;
  }

  #inspect(source: RasterSource): Promise<RasterInfo> {
    return this.#pools.run('raster.inspect', { source }, { deadlineMs: INSPECT_DEADLINE_MS });
  }

  /** Searches again what is old; `changed` is called for a source that is another than before then. */
  watch(changed: (address: string) => void): void {
    const look = () => {
      for (const [address, { imagery, due }] of this.#entries) {
        if (due > Date.now() || this.#searches.has(address)) continue;
        this.#search(imagery.source).then(
          (now) => {
            if (this.#isSource(address) && isOther(imagery, now)) changed(address);
          },
          () => {},
        );
      }
    };
    this.#timer = setInterval(look, LOOK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

const formatTypes = ({ bands }: Pick<RasterInfo, 'bands'>) => bands.map(({ type }) => type).join();

/** Whether the published source must be replaced. */
function isOther(before: Imagery, now: Imagery): boolean {
  if (formatTypes(before.sample) !== formatTypes(now.sample)) return true;
  // Scenes for windows are searched for then.
  return now.source.search === 'static' && sceneStamp(before.search.scenes) !== sceneStamp(now.search.scenes);
}

export function createSceneSearchTask({
  url,
  maxScenes,
  collections,
  assets,
  bbox,
  datetime,
  filter,
  merge,
}: StacSource): SceneSearchTask {
  const prefers = merge === 'newest' || merge === 'lowest-cloud' ? merge : undefined;
  const query = { collections, assets, bbox, datetime, filter, prefers };
  return { url, timeoutMs: RASTER_LIMITS.stacSearchMs, maxScenes, query };
}

function nothing({ refused, problems }: SceneSearch): TaskFailure {
  const reason =
    refused === 0 ? 'It finds nothing.' : `None of its ${refused} items can be used: ${problems[0]}`;
  return new TaskFailure('source-unreadable', `The search returned no scenes. ${reason}`);
}

/** Names the scenes, whatever their signatures are. */
export function sceneStamp(scenes: readonly Scene[]): string {
  return scenes
    .map(({ collection, id, bbox, epsg, acquired, cloudCover, self, hrefs }) =>
      [
        ...[collection, id, bbox, epsg, acquired, cloudCover, self],
        ...hrefs.map((href) => href.replace(/[?#].*$/s, '')),
      ].join(' '),
    )
    .join('\n');
}
