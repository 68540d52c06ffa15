/** Names of columns in lower case, as `findFreeName` takes them. */
export function namesInUse(columns: readonly { readonly name: string }[]): Set<string> {
  return new Set(columns.map(({ name }) => name.toLowerCase()));
}

/** A name for a column beside others, which do not tell cases apart: underscores are appended until it is free. */
export function findFreeName(name: string, taken: ReadonlySet<string>): string {
  let candidate = name;
  while (taken.has(candidate.toLowerCase())) candidate += '_';
  return candidate;
}
