import { hasFeatures, isDrawable } from '../../core/catalog/abilities.js';
import { type CatalogChange, compareSnapshots } from '../../core/catalog/catalog-change.js';
import {
  CatalogSnapshot,
  type Collection,
  type RasterCollection,
  type VectorCollection,
} from '../../core/catalog/collection.js';
import type { CollectionChange } from '../../core/edits/edits.js';
import type { FileWrites } from '../../core/edits/file-writes.js';
import type { Box } from '../../core/geometry/box.js';
import { around, globeExtent, mergeBoxesOnGlobe, uncrossed } from '../../core/geometry/box.js';
import type { StatedCrs } from '../../core/geometry/stated-crs.js';
import type { Activity } from '../../core/sources/activity.js';
import type { VectorSource } from '../../core/sources/vector-source.js';
import type { LayerStyle } from '../../core/styles/model.js';
import { Inspections } from './inspections/inspections.js';
import type { SourceChange } from './inspections/readings.js';
import { type CatalogLayers, NO_LAYERS, withLayers } from './publish/catalog-layers.js';
import { FileVersions } from './publish/file-versions.js';
import type { DataSettings } from './publish/settings.js';
import { type SnapshotDeps, Snapshots } from './snapshots.js';
import { SourceWatcher } from './source-watcher.js';

/** Interval for retrying sources whose host did not respond, in milliseconds. */
const RETRY_MS = 15_000;
/** Maximum number of edits kept per collection: the edits that can be in progress while the catalog is read again. */
const KEPT_EDITS = 4096;

export interface CatalogDeps extends Omit<SnapshotDeps, 'files' | 'generation' | 'inspections' | 'taken'> {
  /** Default: inspections are not stored for the next process. */
  inspections?: Inspections;
  /** See `FileWrites.fileId`; undefined where it is not known. */
  contentOf?(path: string): string | undefined;
}

/** Callbacks for changes of the catalog. */
export interface CatalogFollower {
  /** Called after a reload replaced the published collections. */
  replaced?(change: CatalogChange): void;
  /** Called after a committed edit was applied; `collection` is the collection before the edit. */
  changed?(collection: VectorCollection, change: CollectionChange): void;
}

type StyledCollection = VectorCollection | RasterCollection;

/** The published collections of this process. Readers take `current`; a reload swaps it in one assignment. */
export class Catalog {
  #current = new CatalogSnapshot([], [], 0);
  /** Contents of the sources at the last reading. */
  #read = this.#current;
  /** Layers published in addition to the sources. */
  #layers: CatalogLayers = NO_LAYERS;
  /** Both, without the edits since. */
  #published = this.#current;
  /** Collections by id, as read and with later edits, without settings, styles and access judgements. */
  readonly #plain = new Map<string, Collection>();
  #watcher: SourceWatcher | undefined;
  #changed: (paths: readonly string[]) => void = () => {};
  /** Contents of files that edits reported before any reading of the file. */
  readonly #foreign = new Map<string, string>();
  #retries: NodeJS.Timeout | undefined;
  /** Edits by collection and cursor. */
  readonly #edits = new Map<string, Map<number, CollectionChange>>();
  /** Styles that were set, by layer. */
  readonly #styles = new Map<number, LayerStyle>();
  readonly #styled = new WeakMap<Collection, StyledCollection>();
  readonly #files: FileVersions;
  readonly #deps: CatalogDeps;
  readonly #inspections: Inspections;
  readonly #followers: CatalogFollower[] = [];
  #replacedAt = new Date();
  #isPrivate: (collection: Collection) => boolean = () => false;
  #settled: (collection: Collection) => Collection = (collection) => collection;
  readonly #snapshots: Snapshots;
  /** True until the first snapshot is shown. */
  #isEmpty = true;

  constructor(deps: CatalogDeps) {
    this.#deps = deps;
    this.#inspections = deps.inspections ?? new Inspections(deps.pools);
    this.#files = new FileVersions(deps.contentOf);
    this.#snapshots = new Snapshots({
      ...deps,
      inspections: this.#inspections,
      files: this.#files,
      taken: () => this.#layers.ids,
      generation: () => this.#current.generation + 1,
    });
  }

  get current(): CatalogSnapshot {
    return this.#current;
  }

  /** The collections as sources and operators publish them, before settings, styles and edits. Changes before `current` does. */
  get published(): CatalogSnapshot {
    return this.#published;
  }

  /** Time of the last reload. */
  get replacedAt(): Date {
    return this.#replacedAt;
  }

  /** Folders, files and databases that are published, since the last reload. */
  get sources(): readonly string[] {
    return this.#snapshots.aboutOf(this.#published)?.settings.sources ?? [];
  }

  /** CRSs that the configuration assigns to files, since the last reload. */
  get configuredCrs(): StatedCrs {
    return this.#snapshots.aboutOf(this.#published)?.settings.crs ?? {};
  }

  /** Notifies these followers of changes from now on, in this order. */
  follow(...followers: readonly CatalogFollower[]): void {
    this.#followers.push(...followers);
  }

  /**
   * Reads the sources while the catalog is running. The catalog does not change until `commit`. With `changes`, only
   * the changed sources are read. Default settings: those of the published snapshot. Calls `onProgress` after each
   * source.
   */
  async prepare(
    settings?: DataSettings,
    changes?: readonly SourceChange[],
    onProgress?: () => void,
  ): Promise<CatalogSnapshot> {
    const assemble = await this.#snapshots.read({ settings, changes, ...(onProgress && { onProgress }) });
    return this.#snapshots.inTurn(assemble);
  }

  /** New files that a reading postponed. They must be read in a further reading once the snapshot is shown. */
  postponedOf(snapshot: CatalogSnapshot): readonly string[] {
    return this.#snapshots.aboutOf(snapshot)?.postponed ?? [];
  }

  /**
   * Reads the changed sources (default: all) and shows them. Does not wait for other readings, which show the new
   * files that they read.
   */
  async refresh(changes?: readonly SourceChange[]): Promise<void> {
    let postponed: readonly string[] | undefined;
    while (!postponed) {
      const assemble = await this.#snapshots.read({ changes, onlyShown: true });
      postponed = await this.#snapshots.inTurn(async () => {
        const snapshot = await assemble();
        return this.commit(snapshot) ? this.postponedOf(snapshot) : undefined;
      });
    }
    if (postponed.length > 0) await this.refresh(postponed.map((source) => ({ source })));
  }

  /**
   * Shows a snapshot. Edits committed while the snapshot was created are in it, or are added now.
   * Returns false if another snapshot was shown since the creation, because that one may have more. Then this
   * snapshot is not shown, but later snapshots include its new files and settings.
   */
  commit(snapshot: CatalogSnapshot): boolean {
    if (!this.#snapshots.accept(snapshot)) return false;
    this.#isEmpty = false;
    this.#read = snapshot;
    this.#show();
    this.#replacedAt = new Date();
    this.#watcher?.addSources();
    return true;
  }

  /** Shows other layers in addition to the sources. The sources are not read again. */
  layLayers(layers: CatalogLayers): void {
    this.#layers = layers;
    // At start, the layers are shown at the same time as the sources.
    if (!this.#isEmpty) this.#show();
  }

  /** Publishes the last reading with the layers. Unchanged collections keep their edits, styles and settings. */
  #show(): void {
    const former = this.#published;
    const { tiles } = this.#snapshots.aboutOf(this.#read)?.settings ?? {};
    this.#published = withLayers(this.#read, this.#layers, tiles);
    this.#snapshots.same(this.#read, this.#published);
    const before = this.#current;
    const collections = this.#published.collections.map((one) => {
      const shown = former.byId(one.id) === one ? before.byId(one.id) : undefined;
      if (shown) return shown;
      this.#plain.set(one.id, this.#withEdits(one));
      return this.#dress(one.id);
    });
    for (const id of this.#plain.keys()) if (!this.#published.byId(id)) this.#plain.delete(id);
    this.#current = this.#published.with({ collections });
    this.#tellReplaced(before);
  }

  #tellReplaced(before: CatalogSnapshot): void {
    const change = compareSnapshots(before, this.#current);
    for (const follower of this.#followers) follower.replaced?.(change);
  }

  #withEdits(collection: Collection): Collection {
    const edits = this.#edits.get(collection.id);
    if (!edits || !hasFeatures(collection)) return collection;
    const content = this.#contentOf(collection.file);
    // A file that replaced another file counts its edits from the start.
    for (const [cursor, change] of edits) {
      const { writes } = change;
      if (isRead(collection, change) || (writes && content && writes.fileId !== content))
        edits.delete(cursor);
    }
    return [...edits.values()].reduce(edited, collection);
  }

  /**
   * Sets the function that decides whether a collection is private: some callers can read only a part of it or none.
   */
  judge(isPrivate: (collection: Collection) => boolean): void {
    this.#isPrivate = isPrivate;
    this.#redress();
  }

  /**
   * Sets the function that applies settings to collections from the sources. Called again when the settings change.
   */
  settle(settled: (collection: Collection) => Collection): void {
    this.#settled = settled;
    this.#redress();
  }

  /** Applies styles, unless their layers have newer ones. They remain after reloads. */
  restyle(styles: readonly LayerStyle[]): void {
    const restyled = new Map<string, Collection>();
    for (const style of styles) {
      const set = this.#styles.get(style.layerId);
      if (set && set.revision >= style.revision) continue;
      this.#styles.set(style.layerId, style);
      const collection = this.#current.byLayerId(style.layerId);
      if (collection) restyled.set(collection.id, this.#dress(collection.id));
    }
    if (restyled.size > 0) this.#current = this.#current.replacing(restyled);
  }

  #redress(): void {
    const before = this.#current;
    this.#current = this.#dressed(before);
    if (this.#current !== before) this.#tellReplaced(before);
  }

  /** The snapshot with settings and styles. The same snapshot if no collection changes. */
  #dressed(snapshot: CatalogSnapshot): CatalogSnapshot {
    const collections = snapshot.collections.map(({ id }) => this.#dress(id));
    const isSame = collections.every((one, i) => one === snapshot.collections[i]);
    return isSame ? snapshot : snapshot.with({ collections });
  }

  /** The object that is shown now, where it would be no other. */
  #dress(id: string): Collection {
    const shown = this.#current.byId(id);
    const dressed = this.#judged(this.#settled(this.#withStyle(this.#plain.get(id)!)));
    return shown && isSame(shown, dressed) ? shown : dressed;
  }

  #judged(collection: Collection): Collection {
    const { isPrivate, ...open } = collection;
    if (this.#isPrivate(collection) === (isPrivate ?? false)) return collection;
    return isPrivate ? open : { ...collection, isPrivate: true as const };
  }

  #withStyle(collection: Collection): Collection {
    if (!isDrawable(collection)) return collection;
    const put = this.#styles.get(collection.layerId);
    if (!put?.style || put.kind !== collection.kind) return collection;
    const before = this.#styled.get(collection);
    if (before && before.style === put.style) return before;
    const styled = { ...collection, style: put.style } as StyledCollection;
    this.#styled.set(collection, styled);
    return styled;
  }

  /** Shows another state of a collection. */
  #replace(collection: Collection): void {
    this.#plain.set(collection.id, collection);
    this.#current = this.#current.replacing(new Map([[collection.id, this.#dress(collection.id)]]));
  }

  /**
   * Applies a committed edit, of this process or another, to its collection. Returns false for an edit that was
   * already applied.
   */
  touch(id: string, change: CollectionChange): boolean {
    const collection = this.#current.byId(id);
    const plain = this.#plain.get(id);
    const published = this.#published.byId(id);
    if (!hasFeatures(collection) || !hasFeatures(plain) || !hasFeatures(published)) return true;
    const edits = this.#edits.get(id) ?? new Map<number, CollectionChange>();
    this.#edits.set(id, edits);
    if (change.writes) {
      this.#files.leftByUs(collection.file, change.writes);
      // The file was replaced: its published contents are outdated, and the next reading is of the new file.
      if (change.writes.fileId !== (this.#contentOf(published.file) ?? change.writes.fileId)) {
        edits.set(change.cursor, change);
        this.#tellForeign(collection.file, change.writes.fileId);
        return true;
      }
    }
    if (isRead(published, change)) return true;
    const told = edits.get(change.cursor);
    // In a file that another program restored, cursors come a second time.
    if (told && isSameCommit(told, change)) return false;
    edits.set(change.cursor, change);
    if (edits.size > KEPT_EDITS) edits.delete(edits.keys().next().value!);
    this.#replace(edited(plain, change));
    for (const follower of this.#followers) follower.changed?.(collection, change);
    return true;
  }

  /** The content of which a file is published. */
  #contentOf(file: string): string | undefined {
    return this.#snapshots.aboutOf(this.#published)?.contents.get(file);
  }

  /** Reports an unknown content of a file directly, because continuing edits keep the watcher from coming to rest. */
  #tellForeign(file: string, content: string): void {
    if (this.#foreign.get(file) === content) return;
    this.#foreign.set(file, content);
    this.#changed([file]);
  }

  /** The edits of a file were moved from its log into the file. */
  rest(file: string, writes: FileWrites): void {
    this.#files.leftByUs(file, writes);
  }

  /**
   * Applies an extent that was measured at a cursor, and the number of features if they were counted. Returns false
   * if edits were committed since. If the extent could not be measured in time, the present extent is kept, which
   * contains all features.
   */
  measured(id: string, cursor: number, extent84: Box | undefined, count?: number): boolean {
    const plain = this.#plain.get(id);
    if (!hasFeatures(plain) || plain.cursor !== cursor) return false;
    const { countEstimated, ...counted } = withoutOwnExtent(plain);
    const collection = count === undefined ? withoutOwnExtent(plain) : { ...counted, featureCount: count };
    const isUnknown = !extent84 && collection.featureCount !== 0;
    if (isUnknown && count === undefined) return true;
    this.#replace(isUnknown ? collection : { ...collection, extent84: extent84 && globeExtent(extent84) });
    return true;
  }

  /**
   * Records that another program wrote to the table of a collection. The feature count becomes an estimate, unless it
   * is known to be right.
   */
  noteActivity(id: string, activity: Activity, isDoubtful: boolean): void {
    const plain = this.#plain.get(id);
    if (hasFeatures(plain))
      this.#replace({ ...plain, activity, ...(isDoubtful ? { countEstimated: true } : {}) });
  }

  /**
   * Calls `changed` once after published files changed and came to rest. Edits by this server do not count. Sources
   * that a reload adds are also watched.
   */
  watch(changed: (paths: readonly string[]) => void): void {
    this.#changed = changed;
    this.#watcher = new SourceWatcher({
      changed,
      dataDir: this.#deps.dataDir,
      sources: () => this.sources,
      isKnown: (path) => this.#files.isKnown(path),
      findUnread: (sources) =>
        this.#files.findUnread(sources, this.#deps.dataDir, this.#published.collections),
    });
  }

  /** Calls `again` at an interval with the sources that are quarantined because their host did not respond. */
  retry(again: (sources: readonly string[]) => void): void {
    this.#retries = setInterval(() => {
      const passing = this.#current.quarantined.filter((one) => one.passing);
      if (passing.length > 0) again(passing.map(({ path }) => path));
    }, RETRY_MS).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#retries);
    this.#inspections.close();
    await this.#watcher?.close();
  }
}

/**
 * Whether a collection as read contains an edit. A file that another program restored has older cursors, but more
 * commits: the edits that it lost were committed earlier.
 */
function isRead({ cursor, commits }: VectorCollection, change: CollectionChange): boolean {
  const { writes } = change;
  if (writes && commits && writes.log === commits.log) return writes.after <= commits.count;
  return change.cursor <= cursor;
}

function isSameCommit({ writes: one }: CollectionChange, { writes: other }: CollectionChange): boolean {
  return one?.log === other?.log && one?.after === other?.after;
}

/** Whether two states of a collection have the same members. */
function isSame(one: Collection, other: Collection): boolean {
  const members = Object.keys(one) as (keyof Collection)[];
  return (
    members.length === Object.keys(other).length && members.every((member) => one[member] === other[member])
  );
}

/**
 * A collection after an edit. The extent only grows here. `ExtentRefresh` measures it again if it can have shrunk.
 */
function edited(collection: VectorCollection, change: CollectionChange): VectorCollection {
  const { featureCount = 0, countEstimated, cursor } = collection;
  return {
    ...withoutOwnExtent(collection),
    cursor: Math.max(cursor, change.cursor),
    featureCount: Math.max(0, featureCount + (change.features ?? 0)),
    countEstimated: countEstimated || change.features === undefined,
    extent84: grown(collection, change.extent84 && globeExtent(change.extent84)),
  };
}

/** A collection whose extent may have changed: its extent in degrees is measured again, the one in its CRS is not. */
function withoutOwnExtent(collection: VectorCollection): VectorCollection {
  if (collection.storageCrs.isPlane) return collection;
  const { extent: _, ...rest } = collection;
  return rest;
}

/** Whether edges of the geometries take the shorter way around the Earth, also across 180 degrees. */
const isOnGlobe = ({ source }: { source: VectorSource & { geography?: boolean } }) =>
  source.geography === true;

function grown(collection: VectorCollection, box: Box | undefined): Box | undefined {
  const { extent84: extent } = collection;
  const by = box && !isOnGlobe(collection) ? uncrossed(box) : box;
  if (!extent || !by) return extent ?? by;
  if (by[0] > by[2] || (isOnGlobe(collection) && extent[0] > extent[2]))
    return mergeBoxesOnGlobe([extent, by]);
  const [west, south, east, north] = extent;
  const low = Math.min(south, by[1]);
  const high = Math.max(north, by[3]);
  // An extent across the antimeridian keeps its sides unless the new box is outside them.
  if (west > east) return by[0] >= west || by[2] <= east ? [west, low, east, high] : [-180, low, 180, high];
  return around(extent, by);
}
