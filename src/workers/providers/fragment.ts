/** A piece of an SQL statement with the values of its `?` parameters, in the order of the text. */
export interface Fragment {
  readonly sql: string;
  readonly values: readonly FragmentValue[];
}

export type FragmentValue = string | number | bigint | Uint8Array | null;

/** SQL text with fragments in it. Strings put into it are SQL themselves: never values. */
export function sql(texts: TemplateStringsArray, ...parts: readonly (Fragment | string)[]): Fragment {
  const values: FragmentValue[] = [];
  let text = texts[0]!;
  parts.forEach((part, i) => {
    text += typeof part === 'string' ? part : part.sql;
    if (typeof part !== 'string') for (const value of part.values) values.push(value);
    text += texts[i + 1]!;
  });
  return { sql: text, values };
}

/** SQL text without values. */
export const raw = (text: string): Fragment => ({ sql: text, values: [] });

/** Fragments with the same text between them. */
export function joinFragments(parts: readonly Fragment[], separator: string): Fragment {
  return { sql: parts.map((part) => part.sql).join(separator), values: parts.flatMap((part) => part.values) };
}

/**
 * Conditions joined by AND or OR as a balanced tree. Databases limit the depth of an expression, and the depth of a
 * chain grows with its length.
 */
export function balanced(parts: readonly Fragment[], operator: 'AND' | 'OR'): Fragment {
  if (parts.length === 1) return parts[0]!;
  const half = parts.length >> 1;
  return sql`(${balanced(parts.slice(0, half), operator)} ${operator} ${balanced(parts.slice(half), operator)})`;
}
