import type { AwaitedCollection, Collection, QuarantineEntry } from '../../../core/catalog/collection.js';
import { createCollectionId } from '../../kit/slug.js';
import { groupNamesakes, type Namesakes } from './namesakes.js';
import type { CollectionDraft } from './source.js';

/** Ids of collections that outlive their catalog: rules and settings name layers by them. */
export interface CollectionNames {
  /** Number of an id. `holder` names the source that has the id from now on. */
  layerIdOf(id: string, holder?: string): Promise<number>;
  /** Ids by the sources that have them. */
  holders(): Promise<ReadonlyMap<string, string>>;
  /** Ids of these sources. Default: of all sources. */
  findNames(holders?: readonly string[]): Promise<ReadonlyMap<string, KnownName>>;
  /** Ids of collections in the data folders of other servers. Undefined if there are none. */
  listElsewhere?(): Promise<ReadonlySet<string>>;
}

/** The id of a collection, and its number. */
export interface KnownName {
  readonly id: string;
  readonly layerId: number;
}

/** Maximum number of sources that are queried one by one. For more, all known names are read. */
const MAX_SEARCHED = 200;

/** Ids that drafts received. A draft that was not read again keeps its id without a query to the state database. */
export class GivenNames {
  readonly #given = new WeakMap<CollectionDraft, KnownName>();
  readonly #slugs = new WeakMap<CollectionDraft, string>();

  get(draft: CollectionDraft): KnownName | undefined {
    return this.#given.get(draft);
  }

  set(draft: CollectionDraft, name: KnownName): void {
    this.#given.set(draft, name);
  }

  slugOf(draft: CollectionDraft): string {
    let name = this.#slugs.get(draft);
    if (name === undefined) this.#slugs.set(draft, (name = createCollectionId(draft.name)));
    return name;
  }
}

/**
 * Assigns readable ids: the layer name, preceded by the name of the file or schema if two layers share it. If files of
 * one name share it, the file in the highest folder gets the layer name. Ids of further files start with their folder. A source keeps its
 * id regardless of later sources, because rules for the layer would not apply under another id.
 */
export async function assignIds(
  drafts: readonly CollectionDraft[],
  {
    layerIdOf,
    findNames,
    listElsewhere = async () => new Set(),
  }: Pick<CollectionNames, 'layerIdOf' | 'findNames' | 'listElsewhere'>,
  taken: ReadonlySet<string> = new Set(),
  awaited: Iterable<string> = [],
  given = new GivenNames(),
): Promise<Collection[]> {
  const holders = new Map(
    drafts.filter((draft) => !given.get(draft)).map((draft) => [draft, formatHolder(draft)] as const),
  );
  const searched = holders.size > MAX_SEARCHED ? undefined : [...holders.values()];
  const held = holders.size === 0 ? new Map<string, KnownName>() : await findNames(searched);
  const names = new Set(taken);
  const kept = new Map<CollectionDraft, KnownName>();
  for (const draft of drafts) {
    const name = given.get(draft) ?? held.get(holders.get(draft)!);
    if (name === undefined || names.has(name.id)) continue;
    names.add(name.id);
    kept.set(draft, name);
  }
  // Another source must not take the id of a collection that comes back, because rules name the collection by this id.
  // The source itself keeps the id: its former contents may be served while its file cannot be read.
  for (const id of awaited) names.add(id);
  const elsewhere = drafts.every((draft) => kept.has(draft)) ? new Set<string>() : await listElsewhere();
  const namesakes = groupNamesakes(drafts, (draft) => given.slugOf(draft));
  const collections: Collection[] = [];
  for (const draft of drafts) {
    const plain = given.slugOf(draft);
    const others = namesakes.get(plain);
    let name = kept.get(draft);
    if (!name) {
      const id = freeId(draft, plain, others, { names, elsewhere });
      names.add(id);
      // Only what changes is written.
      name = { id, layerId: await layerIdOf(id, holders.get(draft) ?? formatHolder(draft)) };
    }
    given.set(draft, name);
    const collection = draft.make(name.id, name.layerId);
    collections.push(name.id === plain || !others ? collection : others.qualifyTitle(collection));
  }
  return collections;
}

/** The sources that could not be read, with the names of their former collections. */
export async function withAwaited(
  quarantined: readonly QuarantineEntry[],
  { layerIdOf, holders }: Pick<CollectionNames, 'layerIdOf' | 'holders'>,
): Promise<QuarantineEntry[]> {
  if (!quarantined.some(({ isUnread }) => isUnread)) return [...quarantined];
  const collections = [...(await holders())].map(([holder, id]) => ({ id, ...parseHolder(holder) }));
  const findAwaited = ({ path, layer }: QuarantineEntry): Promise<AwaitedCollection[]> =>
    Promise.all(
      collections
        .filter((one) => one.file === path && (layer === undefined || listNames(layer).includes(one.layer)))
        .map(async ({ id }) => ({ id, layerId: await layerIdOf(id) })),
    );
  return Promise.all(
    quarantined.map(async (one) => (one.isUnread ? { ...one, awaited: await findAwaited(one) } : one)),
  );
}

function freeId(
  draft: CollectionDraft,
  plain: string,
  namesakes: Namesakes | undefined,
  { names, elsewhere }: { names: ReadonlySet<string>; elsewhere: ReadonlySet<string> },
): string {
  const isFree = (id: string) => !names.has(id) && !elsewhere.has(id);
  if (namesakes?.isOneGroup && !elsewhere.has(plain)) {
    const id = namesakes.listIds(draft, plain).find(isFree);
    if (id !== undefined) return id;
  }
  // The server that has the other collection gives the same id to this one.
  const isShared = namesakes !== undefined || elsewhere.has(plain);
  const base = isShared ? createCollectionId(`${draft.group}-${draft.name}`) : plain;
  let id = base;
  for (let n = 2; !isFree(id); n++) id = `${base}-${n}`;
  return id;
}

/** The file or the database of a draft, and its layer there. */
function formatHolder({ name, group, make }: CollectionDraft): string {
  return JSON.stringify([make('', 0).file, group, name]);
}

/** The file or database of a holder, and the layer there. */
export function parseHolder(holder: string): { file: string; layer: string } {
  const [file, group, name] = JSON.parse(holder) as [string, string, string];
  return { file, layer: `${group}.${name}` };
}

/** Layer names of a collection. A geometry column is a part of the name: `town.trees.crown` is in `trees_crown`. */
const listNames = (layer: string): string[] => [layer, layer.replace(/(\..*)\.([^.]*)$/, '$1_$2')];
