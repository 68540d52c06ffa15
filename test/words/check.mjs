/**
 * Checks the words of documents, comments and texts: `node test/words/check.mjs` compares the number of marked
 * sentences of each kind with its budget in test/words/budget.json, which only falls.
 *
 *   --list KIND|PATH ...   prints the marked sentences of a kind, or of paths that start so
 *   --lower                writes the smaller numbers into the budget
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { findLongCells, readAnchors, readLinks, readSentences, withoutCode } from './markdown.mjs';
import { countWords, findMarkers } from './markers.mjs';
import { readSourceSentences } from './sources.mjs';

const BUDGET = 'test/words/budget.json';
/** Written by others, or printed by programs from sources that are checked themselves. */
const SKIPPED = /^(?:LICENSE|NOTICE|test\/fixtures|demo\/data|docs\/decisions\/README)/;

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
})
  .trim()
  .split('\n')
  .filter((path) => existsSync(path) && !SKIPPED.test(path));
const pages = files.filter((path) => path.endsWith('.md'));
const sources = files.filter((path) => /^src\/.*\.(?:ts|cpp|hpp|h)$/.test(path) && !path.endsWith('.d.ts'));

/** The budget that a page counts against: its folder, two levels deep. */
const kindOfPage = (path) => (path.includes('/') ? dirname(path).split('/').slice(0, 3).join('/') : path);

/** Everything found: `{ kind, path, line, text, why }`. */
export function findFaults() {
  const faults = [];
  const judge = (kind, path, { line, text, max, isFirst }) => {
    const markers = findMarkers(text, { maxWords: max, isFirst });
    if (markers.length > 0)
      faults.push({
        kind,
        path,
        line,
        text,
        why: markers.map(({ rule, words, instead }) => `${rule}: "${words}" (${instead})`).join('; '),
      });
  };
  for (const path of pages) {
    const page = readFileSync(path, 'utf8');
    const kind = kindOfPage(path);
    for (const sentence of readSentences(page)) judge(kind, path, sentence);
    for (const { line, words } of findLongCells(page, countWords))
      faults.push({ kind, path, line, text: '', why: `cell of ${words} words (at most 20)` });
    for (const [index, text] of withoutCode(page).split('\n').entries())
      if (
        /(?<!\]\(|[\w/.])docs\/[\w/-]+\.md\b/.test(
          text.replaceAll(/\]\([^)]*\)/g, '](').replaceAll(/`[^`]*`/g, ''),
        )
      )
        faults.push({ kind, path, line: index + 1, text, why: 'bare path of a page (link it)' });
    faults.push(...findDeadLinks(path, page).map((fault) => ({ kind, path, ...fault })));
  }
  for (const path of findLostPages())
    faults.push({ kind: 'lost pages', path, line: 1, text: '', why: 'no index leads here' });
  for (const path of sources)
    for (const sentence of readSourceSentences(path, readFileSync(path, 'utf8')))
      judge(sentence.kind, path, sentence);
  return faults;
}

function findDeadLinks(path, page) {
  return readLinks(page).flatMap(({ line, target }) => {
    if (/^(?:[a-z]+:|\/)/.test(target)) return [];
    const [name, anchor] = target.split('#');
    const file = name === '' ? path : normalize(join(dirname(path), name));
    if (!existsSync(file)) return [{ line, text: target, why: 'dead link' }];
    const hasAnchor =
      !anchor ||
      !file.endsWith('.md') ||
      readAnchors(readFileSync(file, 'utf8')).has(anchor) ||
      readFileSync(file, 'utf8').includes(`id="${anchor}"`);
    return hasAnchor ? [] : [{ line, text: target, why: 'dead link: the page has no such heading' }];
  });
}

/** Pages of docs that docs/README.md does not lead to over indexes (README.md of the folders). */
function findLostPages() {
  const reached = new Set();
  const follow = (path) => {
    if (reached.has(path) || !existsSync(path)) return;
    reached.add(path);
    if (!path.endsWith('README.md')) return;
    for (const { target } of readLinks(readFileSync(path, 'utf8')))
      if (/\.md(?:#|$)/.test(target) && !/^[a-z]+:/.test(target))
        follow(normalize(join(dirname(path), target.split('#')[0])));
  };
  follow('docs/README.md');
  return pages.filter((path) => path.startsWith('docs/') && !reached.has(path));
}

function main(options) {
  const faults = findFaults();
  if (options[0] === '--list') {
    for (const { kind, path, line, text, why } of faults)
      if (options.length === 1 || options.slice(1).some((name) => kind === name || path.startsWith(name)))
        console.log(`${path}:${line} ${text}\n    ${why}`);
    return 0;
  }
  const counts = {};
  for (const { kind } of faults) counts[kind] = (counts[kind] ?? 0) + 1;
  const budget = existsSync(BUDGET) ? JSON.parse(readFileSync(BUDGET, 'utf8')) : {};
  if (options[0] === '--lower') {
    const lower = Object.entries(counts).map(([kind, count]) => [
      kind,
      Math.min(count, budget[kind] ?? (existsSync(BUDGET) ? 0 : count)),
    ]);
    writeFileSync(BUDGET, `${JSON.stringify(Object.fromEntries(lower.sort()), null, 2)}\n`);
    return 0;
  }
  let failed = 0;
  for (const [kind, count] of Object.entries(counts)) {
    const allowed = budget[kind] ?? 0;
    if (count <= allowed) continue;
    failed = 1;
    console.error(
      `words: ${count} marked sentences in ${kind}, the budget is ${allowed}: node test/words/check.mjs --list '${kind}'`,
    );
  }
  for (const [kind, allowed] of Object.entries(budget))
    if ((counts[kind] ?? 0) < allowed) {
      failed = 1;
      console.error(
        `words: ${kind} has ${counts[kind] ?? 0} marked sentences, the budget is still ${allowed}: node test/words/check.mjs --lower`,
      );
    }
  return failed;
}

if (process.argv[1]?.endsWith('check.mjs')) process.exitCode = main(process.argv.slice(2));
