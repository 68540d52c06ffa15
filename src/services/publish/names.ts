import type { Collection } from '../../core/collection.js';
import { slug } from './slug.js';
import type { Draft } from './source.js';

/** Readable ids: the layer's name, with that of its file or schema in front when two layers share it. */
export async function assignIds(
  drafts: readonly Draft[],
  layerIdOf: (id: string) => Promise<number>,
  taken: ReadonlySet<string> = new Set(),
): Promise<Collection[]> {
  const uses = new Map<string, number>();
  for (const draft of drafts) uses.set(slug(draft.name), (uses.get(slug(draft.name)) ?? 0) + 1);
  const names = new Set(taken);
  const collections: Collection[] = [];
  for (const draft of drafts) {
    const plain = slug(draft.name);
    const base = uses.get(plain)! > 1 ? slug(`${draft.group}-${draft.name}`) : plain;
    let id = base;
    for (let n = 2; names.has(id); n++) id = `${base}-${n}`;
    names.add(id);
    collections.push(draft.make(id, await layerIdOf(id)));
  }
  return collections;
}
