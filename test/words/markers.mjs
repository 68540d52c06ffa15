/**
 * Marks of sentences that must be read twice: the rules of docs/contributing/writing.md that a program can check.
 * Each has the rule's name, a pattern, and what to write instead.
 */
const RULES = [
  [
    'clause as subject',
    /^(?:What|Who|How|Which|Whether .* or (?:it|they|whether|not))\b(?!.*\?)/,
    'name the thing with a noun',
  ],
  [
    'clause as subject',
    /\b(?:says?|shows?|lists?|names?|decides?|is|are|of|by|from|in|on|for) (?:what|who|whom|how)\b/,
    'name the thing with a noun',
  ],
  ['inversion', /^Of\b(?! course)/, 'condition first, with if or when'],
  [
    'inversion',
    /^(?:Where|That of|Those of|Nor|Neither)\b(?! (?:a result|of))/,
    'condition first, with if or when',
  ],
  [
    'that of',
    /\b(?:that|those|the ones?) of\b.*(?:\b(?:that|those|the ones?) of\b|\bof it\b)/,
    'repeat the noun',
  ],
  ['those who', /\b(?:those|he|she) (?:who|which|that)\b/, 'name them: clients, users, operators'],
  [
    'is no',
    /(?<!\b[Tt]here )\b(?:is|are|was|were) (?:no|nothing|nobody|none)\b(?! longer)|\b(?:has|have|had|knows?|takes?|makes?|needs?|gets?) (?:nothing|nobody|none)\b|\bknows? no\b/,
    'is not a, has not, does not',
  ],
  [
    'nothing',
    /\b(?:nothing (?:is|was|has|can|in|of|that|else)|nobody|no one|anybody|somebody|everybody|strangers?)\b/i,
    'a client, another user, no file',
  ],
  [
    'is to be',
    /\b(?:is|are|was|were) to (?:be|[a-z]+)\b(?! (?:the|a|an) (?:left|right|north|south|east|west))|\bshall\b/,
    'must, or the imperative',
  ],
  [
    'adverb behind',
    /\d[\d.]*(?:,\d{3})* ?(?!of\b)[A-Za-z%]* at (?:most|least)\b|\bat (?:most|least)[.;,)]|, too\b(?! (?:many|few|large|long|small))|\btoo[.;]/,
    'put it in front: at most 64; also',
  ],
  ['alone', /\balone\b/, 'only'],
  [
    'people word',
    /\b(?:believe[sd]?|wish(?:es|ed)?|mend(?:s|ed)?|foretell?s?|foretold|gives? up|gave up|hears?|heard|ask leave|looks? (?:for|at|up|into|like)|looked (?:for|at|up)|lies?\b(?! within)|lay)\b/,
    'a word for machines: search, read, check, stop, be in',
  ],
  ['theirs', /\b(?:tell|tells|told|telling)\b/, 'report, publish, send, list, say'],
  ['theirs', /\b(?:ask|asks|asked|asking)\b/, 'request, query, call'],
  ['theirs', /\b(?:answer|answers|answered|answering)\b/, 'response; returns, responds'],
  ['theirs', /\b(?:go|goes|going|gone|went) on\b/, 'continue, resume'],
  ['theirs', /\b(?:begin|begins|began|begun|beginning)\b/, 'start, started'],
  ['theirs', /\b(?:anew|afresh)\b/, 'again; rebuilt'],
  ['theirs', /\b(?:meanwhile|by then|by now|hitherto)\b/, 'while it runs, until then, already'],
  ['theirs', /\b(?:take|takes|taken|took|taking) over\b/, 'apply, import, accept'],
  ['theirs', /\b(?:is|are|was|were) gone\b/, 'deleted, expires'],
  ['theirs', /\b(?:left out|passed over|leaves? out)\b/, 'omitted, skipped'],
  ['theirs', /\bcut off\b/, 'truncated, interrupted'],
  ['theirs', /\bat once\b/, 'immediately, or at the same time'],
  ['theirs', /\bby (?:itself|themselves)\b/, 'automatically'],
  ['theirs', /\bas a whole\b|\bas (?:it|they) (?:is|are|was|were)\b|\bstays? as\b/, 'complete; unchanged'],
  ['theirs', /\bbesides?\b/, 'next to; in addition to'],
  ['theirs', /\bperhaps\b/, 'optionally'],
  ['theirs', /\bfrom \d+ on\b/, '5xx; 500 and above'],
  ['theirs', /\bwhole numbers?\b/, 'integer'],
  ['theirs', /\bpictures?\b/, 'image'],
  ['theirs', /\bsurfaces\b|\b(?:each|every|a|this) surface\b/, 'API'],
  [
    'theirs',
    /\b(?:stand|stands|stood|standing) (?:in|on|at|behind|before|for|beside|above|below|there)\b/,
    'be in, be listed in',
  ],
  ['theirs', /\b(?:least|greatest) (?:and|value|of|number|zoom|level)\b/, 'minimum, maximum'],
  ['theirs', /\bthinn?e?d\b(?! plate)/, 'simplify, generalise'],
  ['theirs', /\b(?:spoilt|spoiled)\b/, 'corrupt'],
  ['theirs', /\b(?:of (?:its|their|our|your) own|ours|others)\b/, 'built in, other programs, third-party'],
  ['theirs', /\bcounted apart\b|\bapart from\b/, 'counted separately; except'],
  ['theirs', /\bout of (?:the|a|an|its)\b(?! (?:memory|range))/, 'from, outside'],
  ['theirs', /\binterface documents?\b/, 'OpenAPI document, API reference'],
  ['theirs', /\b(?:as usual|usual one|the usual)\b/, 'default'],
  ['theirs', /\b(?:when|if) (?:absent|empty|left empty)\b|\bnone when\b/, 'Default: ...; 0 disables it'],
  ['theirs', /\bremember(?:s|ed)?\b/, 'keep, store, cache'],
  [
    'theirs',
    /\b(?:hold(?:s|ing)?|held)\b(?! (?:a|an|the|its|one|that|this) (?:\w+ )?(?:lock|lease|connection|transaction|permit|reference))/,
    'apply; contain, store',
  ],
  [
    'inverted',
    /^(?:Nor|So|Thus|Hence|Then|There) (?:does|do|is|are|goes|come|comes|stand|stands) (?!no |an? |one|two|three|at )/,
    'actor, verb, object',
  ],
];

/** Marks a comment whose first sentence does not start with the thing that it describes. */
const FIRST = [
  'comment start',
  /^(?:Of|As|That|What|Who|How|Whether .* or (?:it|they|not|whether))\b/,
  'name the thing first',
];

/** Most words of a sentence, and of a cell of a table. */
export const MAX_WORDS = { sentence: 30, cell: 20 };

export const countWords = (text) => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

/** The sentences of a paragraph of plain text. */
export const splitSentences = (text) =>
  text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\b(e\.g|i\.e|etc|vs|approx|No|Nr|cf)\.\s/g, '$1.\u00a0')
    .split(/(?<=[.!?:][)"”’']*)\s+(?=[\p{Lu}\p{N}"“(`*X])/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');

/** The rules that a sentence breaks, with the words that break them. */
export function findMarkers(sentence, { maxWords = MAX_WORDS.sentence, isFirst = false } = {}) {
  const found = [];
  // Most patterns are in lower case, so a sentence that starts with such a word is also compared in lower case.
  const lower = sentence.charAt(0).toLowerCase() + sentence.slice(1);
  for (const [rule, pattern, instead] of isFirst ? [FIRST, ...RULES] : RULES) {
    const match = pattern.exec(sentence) ?? pattern.exec(lower);
    if (match) found.push({ rule, words: match[0], instead });
  }
  const words = countWords(sentence);
  if (words > maxWords)
    found.push({ rule: 'long', words: `${words} words`, instead: `at most ${maxWords} words` });
  return found;
}
