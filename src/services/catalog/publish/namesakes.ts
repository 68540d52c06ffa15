import { basename, dirname, extname } from 'node:path';
import type { Collection } from '../../../core/catalog/collection.js';
import { countBy } from '../../../core/features/count-by.js';
import { isPath } from '../../../core/sources/sources.js';
import { groupItems } from '../../../core/values/group-items.js';
import { createCollectionId } from '../../kit/slug.js';

/** A draft of a collection, of which only the file counts. */
interface NamedDraft {
  readonly group: string;
  make(id: string, layerId: number): Pick<Collection, 'file'>;
}

/** Folders of a path that an id can have. */
const MAX_FOLDERS = 3;

/** The part of a path that other files of the same name do not have. */
type Distinction = { readonly folder: string } | { readonly extension: string };

/** Drafts that share the name of their layer. */
export class Namesakes {
  /** Whether all of them have the same file name or schema. */
  readonly isOneGroup: boolean;
  readonly #files: ReadonlyMap<NamedDraft, string>;
  readonly #highest: NamedDraft;
  readonly #folders: ReadonlyMap<string, number>;
  /** Numbers of files by the last folders of their paths: one folder, two, and so on. */
  readonly #endings: readonly ReadonlyMap<string, number>[];
  readonly #baseNames: ReadonlyMap<string, number>;

  constructor(drafts: readonly NamedDraft[]) {
    this.isOneGroup = drafts.every(({ group }) => group === drafts[0]!.group);
    this.#files = new Map(drafts.map((draft) => [draft, draft.make('', 0).file]));
    const files = [...new Set(this.#files.values())];
    const depthOf = (draft: NamedDraft) => splitPath(this.#files.get(draft)!).length;
    this.#highest = drafts.reduce((highest, draft) => (depthOf(draft) < depthOf(highest) ? draft : highest));
    this.#folders = countBy(files, (file) => dirname(file));
    this.#endings = Array.from({ length: MAX_FOLDERS }, (_, i) =>
      countBy(files, (file) => endOf(dirname(file), i + 1)),
    );
    this.#baseNames = countBy(files, baseName);
  }

  /** Ids for a file among files of the same name, the best first. `plain` is the id of the name. */
  listIds(draft: NamedDraft, plain: string): string[] {
    const own = draft === this.#highest ? [plain] : [];
    const part = this.#distinguish(this.#files.get(draft)!);
    if (!part) return own;
    const name = 'folder' in part ? `${part.folder}-${plain}` : `${plain}-${part.extension}`;
    return [...own, createCollectionId(name)];
  }

  /** Adds the folder or the extension to the title of a collection, if other files have the same name. */
  qualifyTitle(collection: Collection): Collection {
    const { file, title } = collection;
    if (this.#baseNames.get(baseName(file)) === 1) return collection;
    const part = this.#distinguish(file);
    if (!part) return collection;
    const words = 'folder' in part ? part.folder.replace(/[_-]+/g, ' ') : part.extension;
    return { ...collection, title: `${title} (${words})` };
  }

  #distinguish(file: string): Distinction | undefined {
    if (!isPath(file)) return undefined;
    const folder = dirname(file);
    if (this.#folders.get(folder)! > 1) {
      const extension = extname(file).slice(1);
      return extension === '' ? undefined : { extension };
    }
    const index = this.#endings.findIndex((counts, i) => counts.get(endOf(folder, i + 1)) === 1);
    const ending = endOf(folder, index + 1);
    return index < 0 || ending === '' ? undefined : { folder: ending };
  }
}

/** Drafts that share a name, by the name. Names of one draft are absent. */
export function groupNamesakes<D extends NamedDraft>(
  drafts: readonly D[],
  nameOf: (draft: D) => string,
): ReadonlyMap<string, Namesakes> {
  const groups = groupItems(drafts, nameOf);
  return new Map(
    [...groups].flatMap(([name, own]) => (own.length < 2 ? [] : [[name, new Namesakes(own)] as const])),
  );
}

const splitPath = (path: string) => path.split(/[\\/]/).filter((part) => part !== '' && part !== '.');

/** The last folders of a path. */
const endOf = (folder: string, count: number) => splitPath(folder).slice(-count).join('-');

const baseName = (file: string) => basename(file, extname(file)).toLowerCase();
