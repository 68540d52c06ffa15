import { badParameter } from '../../core/errors/errors.js';

/** Searchable members of an item. */
export interface SearchedItem {
  readonly id: string;
  readonly title: string;
  readonly type: string;
  readonly owner: string;
}

/** One term of a search: a member, or any member, and the required text. */
interface Term {
  readonly member: 'id' | 'title' | 'type' | 'owner' | undefined;
  readonly text: string;
  readonly isExcluded: boolean;
}

const MEMBERS = ['id', 'title', 'type', 'owner'] as const;
/** Members of portal items that have the same value in all items of this server. */
const OTHERS = new Set([
  'access',
  'tags',
  'orgid',
  'accountid',
  'group',
  'typekeywords',
  'culture',
  'isviewonly',
]);
/** `-name:"some words"`, `name:word`, `"some words"`, `word`. */
const TERM = /([-+]?)(?:([A-Za-z]+):)?(?:"([^"]*)"|([^\s"()]+))|[()]/g;
const MAX_TERMS = 32;

/**
 * Returns the predicate of a search (`q` of portals): all its terms must match. Throws 400 for unsupported syntax.
 */
export function itemSearch(q: string): (item: SearchedItem) => boolean {
  const terms = listTerms(q);
  return (item) => terms.every((term) => holds(term, item) !== term.isExcluded);
}

function listTerms(q: string): Term[] {
  const terms: Term[] = [];
  for (const [all, sign, name, quoted, word] of q.matchAll(TERM)) {
    if (all === '(' || all === ')' || word === 'OR' || word === 'NOT')
      throw badParameter('q', 'must be words and member:value pairs, without OR, NOT and brackets');
    const text = (quoted ?? word ?? '').toLowerCase();
    if (word === 'AND' || text === '' || text === '*' || OTHERS.has(name?.toLowerCase() ?? '')) continue;
    const member = MEMBERS.find((one) => one === name?.toLowerCase());
    if (name !== undefined && member === undefined) throw badParameter('q', `has no member '${name}'`);
    terms.push({ member, text, isExcluded: sign === '-' });
    if (terms.length > MAX_TERMS) throw badParameter('q', `must have at most ${MAX_TERMS} terms`);
  }
  return terms;
}

function holds({ member, text }: Term, item: SearchedItem): boolean {
  if (member === 'id') return item.id === text;
  const values = member === undefined ? [item.title, item.type] : [item[member]];
  return values.some((value) => value.toLowerCase().includes(text.replace(/\*$/, '')));
}
