/** Names of columns in lower case, as `findFreeName` takes them. */
export function namesInUse(columns: readonly { readonly name: string }[]): Set<string> {
  return new Set(columns.map(({ name }) => name.toLowerCase()));
}

/** Returns a name that is unused when case is ignored, by appending underscores. */
export function findFreeName(name: string, taken: ReadonlySet<string>): string {
  let candidate = name;
  while (taken.has(candidate.toLowerCase())) candidate += '_';
  return candidate;
}
