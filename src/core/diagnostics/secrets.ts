import { lintSource } from '@secretlint/core';
import { secretLintProfiler } from '@secretlint/profiler';
import { creator } from '@secretlint/secretlint-rule-preset-recommend';

/** A secret in a text, by its positions in UTF-16 code units. */
export interface FoundSecret {
  readonly start: number;
  readonly end: number;
  readonly kind: string;
}

// The profiler keeps all its marks, and searches them for each new one.
secretLintProfiler.mark = () => {};

/** Comments in a text must not disable the rules. */
const COMMENTS = { id: '@secretlint/secretlint-rule-filter-comments', disabled: true };
const CONFIG = {
  rules: [{ id: '@secretlint/secretlint-rule-preset-recommend', rule: creator, rules: [COMMENTS] }],
};

/** Secrets that the rules of secretlint do not find, or find only in their context. */
const OWN_RULES: readonly { readonly kind: string; readonly form: RegExp }[] = [
  { kind: 'jwt', form: /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*/g },
  {
    kind: 'private-key',
    form: /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^\0]*?(?:-----END [A-Z0-9 ]{0,40}-----|\0|$)/g,
  },
  { kind: 'aws-access-key-id', form: /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b/g },
  { kind: 'authorization', form: /\b(?:bearer|basic)\s+[\w+/.~=-]{16,}/gi },
  { kind: 'url-password', form: /\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s/?#@:]{0,128}:[^\s/?#@]{1,256}@/gi },
];

/** Positions of suspected secrets in a text, in order and without overlaps. */
export async function findSecrets(text: string): Promise<FoundSecret[]> {
  const { messages } = await lintSource({
    source: { filePath: 'preview.txt', content: text, ext: '.txt', contentType: 'text' },
    options: { config: CONFIG, noPhysicFilePath: true },
  });
  const found = messages.map(({ range: [start, end], ruleId }) => ({
    ...{ start, end, kind: ruleId.replace(/^.*secretlint-rule-/, '') },
  }));
  for (const { kind, form } of OWN_RULES)
    for (const match of text.matchAll(form))
      found.push({ start: match.index, end: match.index + match[0].length, kind });
  return merge(found);
}

/** A text with its secrets replaced by their kinds, and the number of them. */
export async function maskSecrets(text: string): Promise<{ text: string; removed: number }> {
  const found = await findSecrets(text);
  return { text: maskTexts(text, found), removed: found.length };
}

/** Overlapping secrets become one, with the kind of the first. */
function merge(found: readonly FoundSecret[]): FoundSecret[] {
  const merged: FoundSecret[] = [];
  for (const one of found.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = merged.at(-1);
    if (last && one.start < last.end)
      merged[merged.length - 1] = { ...last, end: Math.max(last.end, one.end) };
    else if (one.end > one.start) merged.push(one);
  }
  return merged;
}

/** Replaces found secrets by their kinds. */
export function maskTexts(text: string, found: readonly FoundSecret[]): string {
  let masked = '';
  let from = 0;
  for (const { start, end, kind } of found) {
    masked += `${text.slice(from, start)}[${kind}]`;
    from = end;
  }
  return masked + text.slice(from);
}
