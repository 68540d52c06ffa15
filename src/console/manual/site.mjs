import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import MiniSearch from 'minisearch';
import { pagePath, renderMarkdown } from './markdown.mjs';
import { INDEX_OPTIONS } from './search.mjs';

/** Folders whose pages are for those who change the server: found last. */
const FOR_DEVELOPERS = /^(contributing|decisions)\//;
/** Lists of names, which have a word of almost every other page. */
const LISTS = /^reference\/(apis\/operations|server\/(limits|metrics))\.md$/;
/** Characters of a section below its name in the results of a search. */
const EXCERPT = 110;

/**
 * Reads the Markdown files of a folder as pages: their HTML, the tree of the table of contents by the lists of the files
 * README.md, and dead links.
 */
export async function readManual(folder) {
  const files = await listFiles(folder);
  const has = (name) => files.includes(name);
  const sources = files.filter((name) => name.endsWith('.md'));
  const texts = await Promise.all(sources.map((name) => readFile(join(folder, name), 'utf8')));
  const pages = new Map(sources.map((name, at) => [name, renderMarkdown(name, texts[at], has)]));
  const tree = buildTree('README.md', pages, new Set());
  return {
    pages,
    tree,
    images: files.filter((name) => /\.(png|svg|webp)$/.test(name)),
    problems: findProblems(pages),
  };
}

/** Paths below the folder, with slashes. */
async function listFiles(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => posix.join(posix.relative(folder, entry.parentPath ?? entry.path), entry.name))
    .sort();
}

/** A page with those that its list names: pages of its own folder and the folders below. Pages that no list names come last. */
function buildTree(source, pages, seen) {
  const page = pages.get(source);
  seen.add(source);
  if (!/(^|\/)README\.md$/.test(source)) return { page, children: [] };
  const folder = dirname(source);
  const isBelow = (file) => {
    const path = posix.relative(folder, file);
    return !path.startsWith('..') && (path.split('/').length === 1 || /^[^/]+\/README\.md$/.test(path));
  };
  const named = page.links.map(({ file }) => file);
  const children = [];
  for (const file of [...named, ...pages.keys()])
    if (isBelow(file) && !seen.has(file)) children.push(buildTree(file, pages, seen));
  return { page, children };
}

/** Dead links, and fragments that lead nowhere. */
function findProblems(pages) {
  return [...pages.values()].flatMap(({ source, links, problems }) => [
    ...problems,
    ...links
      .filter(({ file, hash }) => hash && !pages.get(file).ids.has(decodeURIComponent(hash)))
      .map(({ file, hash }) => `${source}: ${file} has no #${hash}`),
  ]);
}

/** The index of the search as text: `MiniSearch.loadJSON` reads it. */
export function buildIndex(pages) {
  const index = new MiniSearch(INDEX_OPTIONS);
  for (const page of pages.values()) index.addAll(sectionsOf(page));
  return JSON.stringify(index);
}

function sectionsOf({ source, title, keywords, sections }) {
  const page = pagePath(source);
  const ids = new Set();
  return sections.flatMap(({ id, heading, level, text }) => {
    const address = id ? `${page}#${encodeURIComponent(id)}` : page;
    if (ids.has(address)) return [];
    ids.add(address);
    const words = text.join(' ');
    return {
      id: address,
      page,
      name: id ? `${title}: ${heading}` : title,
      excerpt: words.slice(0, EXCERPT),
      weight: weigh(source, level),
      // Only whole pages and sections: a row would be found for the name of its page.
      title: level === 0 ? '' : title,
      keywords: level === 1 ? keywords : '',
      heading: level === 1 ? '' : heading,
      text: words,
    };
  });
}

/** `level` is that of the heading, 0 for the row of a table. */
function weigh(source, level) {
  if (FOR_DEVELOPERS.test(source)) return 0.4;
  if (level === 0) return 0.6;
  if (LISTS.test(source)) return 0.5;
  return level === 1 ? 1.2 : 1;
}
