import { describe, expect, it } from 'vitest';

const { findMarkers, splitSentences } = (await import('../markers.mjs' as string)) as {
  findMarkers(sentence: string, options?: { maxWords?: number }): { rule: string }[];
  splitSentences(text: string): string[];
};
const { readAnchors, readLinks, readSentences } = (await import('../markdown.mjs' as string)) as {
  readAnchors(page: string): Set<string>;
  readLinks(page: string): { line: number; target: string }[];
  readSentences(page: string): { line: number; text: string; max: number }[];
};
const { readSourceSentences } = (await import('../sources.mjs' as string)) as {
  readSourceSentences(path: string, text: string): { kind: string; line: number; text: string }[];
};

const rules = (sentence: string) => findMarkers(sentence).map(({ rule }) => rule);

describe('marks of sentences', () => {
  it.each([
    ['What has no value comes last.', 'clause as subject'],
    ['Of several policies the strictest wins.', 'inversion'],
    ['The file is no manifest.', 'is no'],
    ['The manifest is to be recorded first.', 'is to be'],
    ['A file has 10 MiB at most.', 'adverb behind'],
    ['The server gives up.', 'people word'],
    ['The tile is made anew.', 'theirs'],
    [`A sentence ${'goes '.repeat(30)}far.`, 'long'],
  ])('%s', (sentence, rule) => {
    expect(rules(sentence)).toContain(rule);
  });

  it.each([
    'Nulls sort last.',
    'If several policies apply, the most restrictive one wins.',
    "There is no role 'nope'.",
    'A file can be at most 10 MiB.',
    'What is new?',
    'WebSocket with frames of type heartbeat.',
  ])('are not in: %s', (sentence) => {
    expect(rules(sentence)).toEqual([]);
  });
});

it('sentences end at full stops, and not at abbreviations', () => {
  expect(splitSentences('One. Two, e.g. three. `x` is four.')).toEqual([
    'One.',
    'Two, e.g.\u00a0three.',
    '`x` is four.',
  ]);
});

const PAGE = `# Title of \`x\`

First sentence, over
two lines. Second [link](other.md#there).

\`\`\`sh
Of code nothing is read.
\`\`\`

| a | b |
|---|---|
| cell | [x](y.md) |

## Title of x
`;

it('pages have sentences, cells, links and headings', () => {
  expect(readSentences(PAGE).map(({ line, text, max }) => [line, text, max])).toEqual([
    [1, 'Title of X', 30],
    [3, 'First sentence, over two lines.', 30],
    [3, 'Second link.', 30],
    [10, 'a', 20],
    [10, 'b', 20],
    [12, 'cell', 20],
    [12, 'x', 20],
    [14, 'Title of x', 30],
  ]);
  expect(readLinks(PAGE)).toEqual([
    { line: 4, target: 'other.md#there' },
    { line: 12, target: 'y.md' },
  ]);
  expect([...readAnchors(PAGE)]).toEqual(['title-of-x', 'title-of-x-1']);
});

it('sources have comments, descriptions, errors and texts of the command line', () => {
  const text = `
/** What it is. */
const schema = Type.String({ description: 'Id of the layer.', pattern: 'not read' });
throw badParameter('limit', \`must be at most \${most}\`);
print('a text of the program');
`;
  const found = readSourceSentences('src/cli/x.ts', text).map(({ kind, line, text: sentence }) => [
    kind,
    line,
    sentence,
  ]);
  expect(found).toEqual([
    ['comments', 2, 'What it is.'],
    ['descriptions', 3, 'Id of the layer.'],
    ['cli', 3, 'not read'],
    ['errors', 4, 'must be at most X'],
    ['cli', 5, 'a text of the program'],
  ]);
});
