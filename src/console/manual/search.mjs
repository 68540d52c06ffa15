/** How the manual is searched: the same options make the index when it is built and read it in the browser. */

/** Words too common to tell pages apart. */
const COMMON = new Set(
  'a an and are as at be by can do does for from how i in is it my not of on or that the this to what when where which with without'.split(
    ' ',
  ),
);

/** A word as it is indexed: in lower case, without the ending of a plural. */
function processTerm(term) {
  const word = term.toLowerCase();
  if (COMMON.has(word)) return null;
  if (/[a-z]{3}ies$/.test(word)) return `${word.slice(0, -3)}y`;
  return /[a-z]{2}[^s]s$/.test(word) ? word.slice(0, -1) : word;
}

export const INDEX_OPTIONS = {
  fields: ['title', 'keywords', 'heading', 'text'],
  storeFields: ['page', 'name', 'excerpt', 'weight'],
  processTerm,
};

/** More than this many results are not shown. */
const MAX_RESULTS = 12;
/** Sections of one page in the results. */
const MAX_PER_PAGE = 3;

const SEARCH_OPTIONS = {
  boost: { title: 6, keywords: 6, heading: 3, text: 1 },
  prefix: (term) => term.length > 2,
  fuzzy: (term) => (term.length > 5 ? 0.15 : 0),
  weights: { prefix: 0.4, fuzzy: 0.2 },
  boostDocument: (_id, _term, stored) => stored.weight,
};

/**
 * Sections that answer a query, the best first. A page comes first if all words are in one of its sections; sections
 * of one page stand together.
 */
export function searchIndex(index, query) {
  const all = index.search(query, { ...SEARCH_OPTIONS, combineWith: 'AND' });
  const any = all.length < MAX_RESULTS ? index.search(query, { ...SEARCH_OPTIONS, combineWith: 'OR' }) : [];
  const pages = new Map();
  for (const section of [...all, ...any]) {
    const sections = pages.get(section.page) ?? [];
    if (!sections.some(({ id }) => id === section.id)) sections.push(section);
    pages.set(section.page, sections);
  }
  return [...pages.values()].flatMap((sections) => sections.slice(0, MAX_PER_PAGE)).slice(0, MAX_RESULTS);
}
