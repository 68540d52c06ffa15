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

/** Words that end the name of a secret, such as `client_secret`, `x-api-key` or `PGPASSWORD`. */
const SECRET_NAME =
  '(?:password|passwd|pwd|passphrase|secret|token|credentials?|api[-_]?key|(?:access|account|admin|auth|client|private|secret|shared[-_]?access|signing)[-_]?key|code[-_]?verifier|x-(?:amz|goog)-signature)';
/** End of a name, quotes around it, and the sign before the value. */
const SIGN = String.raw`(?:\\?["'])?\s{0,4}[=:]\s{0,4}`;
/** Start of a value that hides or refers to the secret, such as `***`, `{value}` or `$KEY`. */
const NOT_HIDDEN = String.raw`(?!\*|\{|\[|<|\$|%[sd]|null\b|undefined\b|true\b|false\b)`;

/**
 * Secrets that the rules of secretlint do not find, or find only in their context. If a form has a group, the group is
 * the secret.
 */
const OWN_RULES: readonly { readonly kind: string; readonly form: RegExp }[] = [
  { kind: 'jwt', form: /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*/g },
  {
    kind: 'private-key',
    form: /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^\0]*?(?:-----END [A-Z0-9 ]{0,40}-----|\0|$)/g,
  },
  { kind: 'aws-access-key-id', form: /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b/g },
  { kind: 'authorization', form: /\b(?:bearer|basic)\s+[\w+/.~=-]{16,}/gi },
  {
    // The scheme and the value, up to the end of the line or of the string.
    kind: 'authorization',
    form: new RegExp(
      String.raw`\b(?:(?:proxy-|x-esri-)?authorization)${SIGN}["']?((?:bearer|basic|digest|apikey|token|negotiate|ntlm|aws4-hmac-sha256)\s+${NOT_HIDDEN}[^\r\n\0]+)`,
      'dgi',
    ),
  },
  {
    kind: 'cookie',
    form: new RegExp(String.raw`\b(?:set-)?cookie${SIGN}["']?(${NOT_HIDDEN}[\w.-]{1,128}=[^\r\n\0]+)`, 'dgi'),
  },
  { kind: 'url-password', form: /\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s/?#@:]{0,128}:[^\s/?#@]{1,256}@/gi },
  {
    kind: 'signature',
    form: new RegExp(String.raw`[?&](?:sig|key|signature)=(${NOT_HIDDEN}[^\s&"'<>\0]{20,})`, 'dg'),
  },
  {
    // Quoted values: members of documents and connection strings.
    kind: 'password',
    form: new RegExp(
      String.raw`${SECRET_NAME}(?:\\?["'])?\s{0,4}[=:]\s{0,4}(?:\\"|["'])(${NOT_HIDDEN}[^"'\\\r\n\0]{4,})`,
      'dgi',
    ),
  },
  { kind: 'password', form: new RegExp(`<${SECRET_NAME}>(${NOT_HIDDEN}[^<\\0]{4,})`, 'dgi') },
  {
    kind: 'token',
    form: new RegExp(String.raw`${SECRET_NAME}\s{0,4}=\s{0,4}(${NOT_HIDDEN}[^\s&;,"'<>\0]{4,})`, 'dgi'),
  },
  {
    // After a colon, words are prose. Keys have a digit.
    kind: 'token',
    form: new RegExp(
      String.raw`${SECRET_NAME}\s{0,4}:\s{0,4}(${NOT_HIDDEN}(?=[^\s&;,"'<>\0]{0,256}\d)[^\s&;,"'<>\0]{8,})`,
      'dgi',
    ),
  },
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
    for (const match of text.matchAll(form)) {
      const [start, end] = match.indices?.[1] ?? [match.index, match.index + match[0].length];
      found.push({ start, end, kind });
    }
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
