/** A name for a column beside others, which do not tell cases apart: underscores are appended until it is free. */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  let candidate = name;
  while (taken.has(candidate.toLowerCase())) candidate += '_';
  return candidate;
}
