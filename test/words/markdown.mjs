/** Reads sentences, links and headings out of Markdown. */
import { MAX_WORDS, splitSentences } from './markers.mjs';

const FENCE = /^( *)(```|~~~)[^\n]*\n[\s\S]*?^\1\2 *$/gm;

/** The text without blocks of code, comments and front matter; as many lines as before. */
const blank = (match) => match.replaceAll(/[^\n]/g, '');
export const withoutCode = (text) =>
  text
    .replace(/^---\n[\s\S]*?\n---\n/, blank)
    .replaceAll(FENCE, blank)
    .replaceAll(/<!--[\s\S]*?-->/g, blank);

/** Plain words: inline code and quotes are one word, a link is its text. */
const plain = (text) =>
  text
    .replaceAll(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/`[^`]*`/g, 'X')
    .replaceAll(/"[^"]{1,120}"/g, 'X')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\*\*?|__/g, '');

/** Sentences of a page: `{ line, text, max }`, where `max` is the most words it may have. */
export function readSentences(page) {
  const sentences = [];
  let paragraph = [];
  let start = 1;
  const push = (text, line, max) => {
    for (const sentence of splitSentences(plain(text))) sentences.push({ line, text: sentence, max });
  };
  const flush = () => {
    if (paragraph.length > 0) push(paragraph.join(' '), start, MAX_WORDS.sentence);
    paragraph = [];
  };
  withoutCode(page)
    .split('\n')
    .forEach((line, index) => {
      const item = /^\s*(?:[-*+]|\d+[.)])\s+(.*)$/.exec(line);
      if (/^\s*$/.test(line)) flush();
      else if (/^#+\s/.test(line)) {
        flush();
        push(line.replace(/^#+\s+/, ''), index + 1, MAX_WORDS.sentence);
      } else if (/^\s*\|/.test(line)) {
        flush();
        if (/^[\s|:-]+$/.test(line)) return;
        const cells = line.trim().replaceAll('\\|', '\u00a6').split('|').slice(1, -1);
        for (const cell of cells) push(cell.trim(), index + 1, MAX_WORDS.cell);
      } else if (item) {
        flush();
        start = index + 1;
        paragraph = [item[1]];
      } else {
        if (paragraph.length === 0) start = index + 1;
        paragraph.push(line.replace(/^\s*>\s?/, '').trim());
      }
    });
  flush();
  return sentences;
}

/** Cells longer than the limit, whatever sentences they have: `{ line, words }`. */
export function findLongCells(page, count) {
  return withoutCode(page)
    .split('\n')
    .flatMap((line, index) =>
      /^\s*\|/.test(line)
        ? line
            .trim()
            .replaceAll('\\|', '\u00a6')
            .split('|')
            .slice(1, -1)
            .map((cell) => ({ line: index + 1, words: count(plain(cell)) }))
            .filter(({ words }) => words > MAX_WORDS.cell)
        : [],
    );
}

/** Relative links of a page: `{ line, target }`. */
export function readLinks(page) {
  return withoutCode(page)
    .split('\n')
    .flatMap((line, index) =>
      [...line.replaceAll(/`[^`]*`/g, '').matchAll(/\]\(([^)\s]+)(?:\s+"[^"]*")?\)/g)].map(([, target]) => ({
        line: index + 1,
        target,
      })),
    );
}

/** First cell of a row that the manual gives an anchor, and the second (src/console/manual/markdown.mjs). */
const ROW_ANCHORS =
  /^\|\s*(?:`(?<name>[^`\s]+)`(?: \([^|]*)?|(?<number>\d{3,}))\s*\|(?:\s*`(?<second>[^`\s]+)`\s*\|)?/gm;

/** Anchors of a page: of its headings, as GitHub makes them, and of rows that have a name. */
export function readAnchors(page) {
  const rows = [...page.matchAll(ROW_ANCHORS)].flatMap(({ groups }) => [
    groups.name ?? groups.number,
    groups.second ?? [],
  ]);
  return new Set([...readHeadingAnchors(page), ...rows.flat()]);
}

function readHeadingAnchors(page) {
  const seen = new Map();
  return new Set(
    [...withoutCode(page).matchAll(/^#+\s+(.*)$/gm)].map(([, heading]) => {
      const anchor = heading
        .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .replaceAll('`', '')
        .trim()
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(/\s/g, '-');
      const times = seen.get(anchor) ?? 0;
      seen.set(anchor, times + 1);
      return times === 0 ? anchor : `${anchor}-${times}`;
    }),
  );
}
