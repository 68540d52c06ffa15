/**
 * Draws sentences for a reader to judge: `node test/words/sample.mjs SEED`. A seed always draws the same sentences of
 * the same tree. The sizes are in docs/contributing/writing.md.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readSentences } from './markdown.mjs';
import { readSourceSentences } from './sources.mjs';

const SIZES = { guides: 60, reference: 60, explanation: 40, errors: 60, logs: 30, pages: 40, comments: 80 };
/** Shorter texts are labels, which need no second reading. */
const MIN_WORDS = 4;

function kindOfPage(path) {
  if (path === 'README.md' || /^docs\/(?:tutorials|how-to)\//.test(path)) return 'guides';
  return /^docs\/(reference|explanation)\//.exec(path)?.[1];
}

function readTree() {
  const paths = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n');
  return paths.flatMap((path) => {
    const isSource = /^src\/.*\.(?:ts|cpp|hpp|h)$/.test(path) && !path.endsWith('.d.ts');
    const kind = kindOfPage(path);
    if (!isSource && kind === undefined) return [];
    const text = readFileSync(path, 'utf8');
    const sentences = isSource
      ? readSourceSentences(path, text)
      : readSentences(text).map((sentence) => ({ ...sentence, kind }));
    return sentences.map((sentence) => ({ path, ...sentence }));
  });
}

const seed = process.argv[2] ?? '1';
const order = ({ path, line, text }) =>
  createHash('sha256').update(`${seed} ${path} ${line} ${text}`).digest('hex');
const all = readTree().filter(({ text }) => text.split(/\s+/).length >= MIN_WORDS);
for (const [kind, size] of Object.entries(SIZES)) {
  const drawn = all
    .filter((sentence) => sentence.kind === kind)
    .map((sentence) => [order(sentence), sentence])
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, size);
  console.log(`\n## ${kind}: ${drawn.length}`);
  for (const [, { path, line, text }] of drawn) console.log(`${path}:${line} ${text}`);
}
