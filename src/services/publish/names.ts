import type { AwaitedCollection, Collection, Quarantined } from '../../core/collection.js';
import { slug } from './slug.js';
import type { Draft } from './source.js';

/** Ids of collections that outlive their catalog: rules and settings name layers by them. */
export interface CollectionNames {
  /** Number of an id. `holder` names the source that has the id from now on. */
  layerIdOf(id: string, holder?: string): Promise<number>;
  /** Ids by the sources that have them. */
  holders(): Promise<ReadonlyMap<string, string>>;
  /** Numbers of all ids that have one. */
  numbers(): Promise<ReadonlyMap<string, number>>;
}

/**
 * Readable ids: the layer's name, with that of its file or schema in front when two layers share it. A source keeps the id
 * that it has, whatever comes beside it: under another id, rules for the layer would not apply to it any more.
 */
export async function assignIds(
  drafts: readonly Draft[],
  { layerIdOf, holders, numbers }: CollectionNames,
  taken: ReadonlySet<string> = new Set(),
  awaited: Iterable<string> = [],
): Promise<Collection[]> {
  const [held, known] = await Promise.all([holders(), numbers()]);
  // Another source must not take the id of a collection that comes back: rules name it by this id.
  const names = new Set([...taken, ...awaited]);
  const named = drafts.map((draft) => ({ draft, holder: holderOf(draft) }));
  const ids = new Map<Draft, string>();
  for (const { draft, holder } of named) {
    const id = held.get(holder);
    if (id === undefined || names.has(id)) continue;
    names.add(id);
    ids.set(draft, id);
  }
  const uses = new Map<string, number>();
  for (const { name } of drafts) uses.set(slug(name), (uses.get(slug(name)) ?? 0) + 1);
  const collections: Collection[] = [];
  for (const { draft, holder } of named) {
    const id = ids.get(draft) ?? freeId(draft, uses, names);
    names.add(id);
    const number = held.get(holder) === id ? known.get(id) : undefined;
    // Only what changes is written.
    collections.push(draft.make(id, number ?? (await layerIdOf(id, holder))));
  }
  return collections;
}

/** The sources that could not be read, with the names of what they held before. */
export async function withAwaited(
  quarantined: readonly Quarantined[],
  { layerIdOf, holders }: CollectionNames,
): Promise<Quarantined[]> {
  if (!quarantined.some(({ isUnread }) => isUnread)) return [...quarantined];
  const collections = [...(await holders())].map(([holder, id]) => ({ id, ...parseHolder(holder) }));
  const findAwaited = ({ path, layer }: Quarantined): Promise<AwaitedCollection[]> =>
    Promise.all(
      collections
        .filter((one) => one.file === path && (layer === undefined || namesOf(layer).includes(one.layer)))
        .map(async ({ id }) => ({ id, layerId: await layerIdOf(id) })),
    );
  return Promise.all(
    quarantined.map(async (one) => (one.isUnread ? { ...one, awaited: await findAwaited(one) } : one)),
  );
}

function freeId(draft: Draft, uses: ReadonlyMap<string, number>, names: ReadonlySet<string>): string {
  const plain = slug(draft.name);
  const base = uses.get(plain)! > 1 ? slug(`${draft.group}-${draft.name}`) : plain;
  let id = base;
  for (let n = 2; names.has(id); n++) id = `${base}-${n}`;
  return id;
}

/** The file or the database that a draft comes from, and its layer there. */
function holderOf({ name, group, make }: Draft): string {
  return JSON.stringify([make('', 0).file, group, name]);
}

/** The file or database of a holder, and the layer there. */
function parseHolder(holder: string): { file: string; layer: string } {
  const [file, group, name] = JSON.parse(holder) as [string, string, string];
  return { file, layer: `${group}.${name}` };
}

/** A column of geometries is a part of the name of its collection: `town.trees.crown` holds `trees_crown`. */
const namesOf = (layer: string): string[] => [layer, layer.replace(/(\..*)\.([^.]*)$/, '$1_$2')];
