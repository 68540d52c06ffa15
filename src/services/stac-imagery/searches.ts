import { isDeepStrictEqual } from 'node:util';
import { TaskFailure } from '../../core/failure.js';
import { LIMITS } from '../../core/limits.js';
import type { BandInfo, RasterInfo, RasterSource } from '../../core/rasters.js';
import type { Scene, SceneSearch, SceneSearchTask } from '../../core/stac-scenes.js';
import { type StacSource, stacSource } from '../../core/stac-source.js';
import type { Pools } from '../../core/tasks.js';
import { mergedSample, sceneRaster } from './mosaic.js';
import { searchInTurn } from './waiting.js';

/** How often sources are looked at whose search is old. */
const LOOK_MS = 5000;
/** A search that is younger is not made again for a reload. */
const FRESH_MS = 10_000;
const INSPECT_DEADLINE_MS = 60_000;
/** Scenes that are tried until one can be read. */
const TRIES = 8;

/** Scenes that are looked at where others are searched for each window. */
const SAMPLE_SCENES = 20;

/** What a source of a STAC API was when it was searched last. */
export interface Imagery {
  readonly source: StacSource;
  readonly search: SceneSearch;
  /** One of its scenes: its pixels are those of the mosaic. */
  readonly sample: RasterInfo;
  /** Bands of the mosaic. */
  readonly bands: readonly BandInfo[];
}

interface Entry {
  imagery: Imagery;
  searchedAt: number;
}

/** Sources that are imagery of STAC APIs: searched for a reload, and again from time to time. */
export class StacImagery {
  readonly #entries = new Map<string, Entry>();
  readonly #pools: Pick<Pools, 'run'>;
  #timer: NodeJS.Timeout | undefined;

  constructor(pools: Pick<Pools, 'run'>) {
    this.#pools = pools;
  }

  /** Forgets what is no source any more. */
  keep(addresses: readonly string[]): void {
    for (const address of this.#entries.keys())
      if (!addresses.includes(address)) this.#entries.delete(address);
  }

  /** What a source is now; while its API does not answer well, what it was. Rejects with `TaskFailure`. */
  async read(address: string): Promise<Imagery> {
    const source = stacSource(address);
    const before = this.#entries.get(address);
    if (before && Date.now() - before.searchedAt < FRESH_MS) return before.imagery;
    try {
      return await this.#search(source, before?.imagery);
    } catch (error) {
      if (!before) throw error;
      return before.imagery;
    }
  }

  async #search(source: StacSource, before: Imagery | undefined): Promise<Imagery> {
    const search = await searchInTurn(this.#pools, {
      ...searchTask(source),
      ...(source.search === 'window' && { isDescribed: true, maxScenes: SAMPLE_SCENES }),
    });
    if (search.scenes.length === 0) throw nothing(search);
    const sample = before?.sample ?? (await this.#sample(source, search));
    const bands = before?.bands ?? (await this.#bands({ source, search, sample }));
    const imagery = { source, search, sample, bands };
    this.#entries.set(source.address, { imagery, searchedAt: Date.now() });
    return imagery;
  }

  /** The first scene that can be read. */
  async #sample(source: StacSource, { scenes }: SceneSearch): Promise<RasterInfo> {
    let failure: unknown;
    for (const scene of scenes.slice(0, TRIES)) {
      try {
        return await this.#inspect(sceneRaster(source, scene));
      } catch (error) {
        failure ??= error;
      }
    }
    throw failure;
  }

  /** Those of the sample; of values that are merged, what becomes of them where the sample lies. */
  async #bands(imagery: Omit<Imagery, 'bands'>): Promise<readonly BandInfo[]> {
    const merged = mergedSample(imagery);
    return merged ? (await this.#inspect(merged)).bands : imagery.sample.bands;
  }

  #inspect(source: RasterSource): Promise<RasterInfo> {
    return this.#pools.run('raster.inspect', { source }, { deadlineMs: INSPECT_DEADLINE_MS });
  }

  /** Searches again what is old; `changed` is called for a source that has other scenes then. */
  watch(changed: (address: string) => void): void {
    let isBusy = false;
    const look = async () => {
      if (isBusy) return;
      isBusy = true;
      for (const entry of this.#entries.values())
        if (await this.#refresh(entry)) changed(entry.imagery.source.address);
      isBusy = false;
    };
    this.#timer = setInterval(() => void look(), LOOK_MS).unref();
  }

  /** Whether its scenes are others than before. */
  async #refresh({ imagery, searchedAt }: Entry): Promise<boolean> {
    const { source } = imagery;
    if (source.search === 'window' || Date.now() - searchedAt < source.refreshMs) return false;
    try {
      const now = await this.#search(source, imagery);
      return !isDeepStrictEqual(now.search.scenes, imagery.search.scenes);
    } catch {
      // What it was stays, and it is asked again after the same time.
      const entry = this.#entries.get(source.address);
      if (entry) entry.searchedAt = Date.now();
      return false;
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

export function searchTask({
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
  return { url, timeoutMs: LIMITS.stacSearchMs, maxScenes, query };
}

function nothing({ refused, problems }: SceneSearch): TaskFailure {
  const reason =
    refused === 0 ? 'It finds nothing.' : `None of its ${refused} items can be used: ${problems[0]}`;
  return new TaskFailure('source-unreadable', `The search gives no scenes. ${reason}`);
}

/** Names the scenes, whatever their signatures are. */
export function sceneStamp(scenes: readonly Scene[]): string {
  return scenes
    .map(({ collection, id, acquired, cloudCover, self, hrefs }) =>
      [collection, id, acquired, cloudCover, self, ...hrefs.map((href) => href.replace(/[?#].*$/s, ''))].join(
        ' ',
      ),
    )
    .join('\n');
}
