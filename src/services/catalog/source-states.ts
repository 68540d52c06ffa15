import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { hasFeatures } from '../../core/catalog/abilities.js';
import { explainAssumedCrs, findAssumedCrs, suggestDeclaredCrs } from '../../core/catalog/assumed-crs.js';
import type { CatalogSnapshot, Collection, QuarantineEntry } from '../../core/catalog/collection.js';
import { splitRefusal } from '../../core/catalog/refusal.js';
import { countBy } from '../../core/features/count-by.js';
import type { AssumedCrs } from '../../core/geometry/stated-crs.js';
import type { Principal } from '../../core/http/operation.js';
import { isPath } from '../../core/sources/sources.js';
import { permits } from '../access/permissions.js';
import type { SourceChange } from './inspections/readings.js';

/** Permission to see the names of files that are not published. */
export const SOURCES_PERMISSION = 'admin:services:read';

type SourceReader = Pick<Principal, 'permissions' | 'tenantId'>;

/** Whether a caller can see the names of sources. Callers of a tenant see only their own layers. */
export function maySeeSources(principal: SourceReader): boolean {
  return principal.tenantId === undefined && permits(principal, SOURCES_PERMISSION);
}

/** Whether a caller can have sources read again, and can choose their CRS. */
export function mayChangeSources(principal: SourceReader): boolean {
  return maySeeSources(principal) && permits(principal, 'admin:services:write');
}

export const SOURCE_STATES = ['published', 'warning', 'refused'] as const;
type SourceStateName = (typeof SOURCE_STATES)[number];

/** A file, a table of a file or database, or another source, and what became of it. */
export interface SourceState {
  readonly id: string;
  /** Path of the file, or URL without password. */
  readonly source: string;
  /** Its table or layer. Undefined for a complete source. */
  readonly layer: string | undefined;
  /** Folder of a file; the URL of another source. */
  readonly folder: string;
  readonly state: SourceStateName;
  readonly collections: readonly Pick<Collection, 'id' | 'layerId' | 'title'>[];
  readonly reason: string | undefined;
  readonly remedy: string | undefined;
  /** Assumption about the CRS of data that declares none. */
  readonly assumedCrs: AssumedCrs | undefined;
  /** When this process first saw this state, in milliseconds since 1970. */
  readonly seenSince: number;
}

export interface SourceStatesDeps {
  catalog(): CatalogSnapshot;
  /** Reads these sources again, in all processes. */
  publish(reason: string, changes: readonly SourceChange[]): Promise<void>;
}

const FALLBACK_REMEDY = 'Repair or replace the file. The server then reads it again automatically.';

/** Lists the sources of the catalog with their states. */
export class SourceStates {
  /** When each state was first seen, by id and message. */
  #since = new Map<string, number>();
  #listed: { readonly of: CatalogSnapshot; readonly states: readonly SourceState[] } | undefined;

  constructor(private readonly deps: SourceStatesDeps) {}

  /** All sources, in the order of their paths and layers. */
  list(): readonly SourceState[] {
    const snapshot = this.deps.catalog();
    if (this.#listed?.of !== snapshot) this.#listed = { of: snapshot, states: this.#read(snapshot) };
    return this.#listed.states;
  }

  find(id: string): SourceState | undefined {
    return this.list().find((one) => one.id === id);
  }

  /** The present state of a source. A source that is published now has another id than while it was refused. */
  findSame(former: SourceState): SourceState {
    const all = this.list();
    const isSame = (one: SourceState) => one.source === former.source && one.layer === former.layer;
    return all.find(({ id }) => id === former.id) ?? all.find(isSame) ?? former;
  }

  /** The source of a collection. */
  findByCollection(collectionId: string): SourceState | undefined {
    return this.list().find(
      ({ state, collections }) => state !== 'refused' && collections[0]?.id === collectionId,
    );
  }

  /** Reads a source again. When it resolves, all processes show the result. */
  async retry({ source, layer, state, collections }: SourceState): Promise<void> {
    const isTable = layer !== undefined && state !== 'refused' && collections.length > 0;
    const change = isTable && isPath(source) ? { source, table: layer } : { source };
    await this.deps.publish(`${source} is read again`, [change]);
  }

  #read(snapshot: CatalogSnapshot): SourceState[] {
    const now = Date.now();
    const since = new Map<string, number>();
    const states = [
      ...snapshot.quarantined.map(describeRefused),
      ...countTables(snapshot.collections).map(describePublished),
    ];
    const dated = states.map((one): SourceState => {
      const key = JSON.stringify([one.id, one.state, one.reason]);
      const seenSince = this.#since.get(key) ?? now;
      since.set(key, seenSince);
      return { ...one, seenSince };
    });
    this.#since = since;
    return dated.sort(compareStates);
  }
}

type SourceEntry = Omit<SourceState, 'seenSince'>;

function describeRefused({ path, layer, reason: message, awaited = [] }: QuarantineEntry): SourceEntry {
  const { reason, remedy = isPath(path) ? FALLBACK_REMEDY : undefined } = splitRefusal(message);
  return {
    id: createSourceId(path, layer, 'refused'),
    source: path,
    layer,
    folder: findFolder(path),
    state: 'refused',
    collections: awaited.map(({ id, layerId }) => ({ id, layerId, title: id })),
    reason,
    remedy,
    assumedCrs: undefined,
  };
}

interface SourceCounts {
  readonly collection: Collection;
  /** Whether its source has several collections. */
  readonly isOfSeveral: boolean;
}

function countTables(collections: readonly Collection[]): SourceCounts[] {
  const counts = countBy(collections, ({ file }) => file);
  return collections.map((collection) => ({ collection, isOfSeveral: counts.get(collection.file)! > 1 }));
}

function describePublished({ collection, isOfSeveral }: SourceCounts): SourceEntry {
  const { id, layerId, title, file, warning } = collection;
  const layer = !isOfSeveral ? undefined : hasFeatures(collection) ? collection.source.table : id;
  const parts = warning === undefined ? undefined : splitRefusal(warning);
  const found = findAssumedCrs(collection);
  const assumedCrs = found?.isDeclared ? undefined : found;
  return {
    id: createSourceId(file, layer, id),
    source: file,
    layer,
    folder: findFolder(file),
    state: warning === undefined && !assumedCrs ? 'published' : 'warning',
    collections: [{ id, layerId, title }],
    reason: joinTexts(assumedCrs && explainAssumedCrs(assumedCrs), parts?.reason),
    remedy: joinTexts(assumedCrs && suggestDeclaredCrs(assumedCrs, file), parts?.remedy),
    assumedCrs,
  };
}

const joinTexts = (...texts: (string | undefined)[]) => texts.filter(Boolean).join(' ') || undefined;

/** An id that remains the same across restarts. */
function createSourceId(source: string, layer: string | undefined, kind: string): string {
  const text = JSON.stringify([source, layer ?? null, kind]);
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

const findFolder = (source: string) => (isPath(source) ? dirname(source) : source);

/** Order of lists and cursors. */
export function compareStates(one: SourceOrder, other: SourceOrder): number {
  return (
    compare(one.source, other.source) ||
    compare(one.layer ?? '', other.layer ?? '') ||
    compare(one.id, other.id)
  );
}

export type SourceOrder = Pick<SourceState, 'source' | 'layer' | 'id'>;

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);
