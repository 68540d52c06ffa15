/** Names that a client may have meant: at most three, the closest first. */
export function closeNames(name: string, names: readonly string[]): string[] {
  const lowerCase = name.slice(0, 64).toLowerCase();
  return names
    .map((candidate) => ({ candidate, edits: edits(lowerCase, candidate.slice(0, 64).toLowerCase()) }))
    .filter(({ edits }) => edits <= Math.max(1, Math.floor(lowerCase.length / 3)))
    .sort((a, b) => a.edits - b.edits)
    .slice(0, 3)
    .map(({ candidate }) => candidate);
}

/** Levenshtein distance. */
function edits(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(previous[j]! + 1, row[j - 1]! + 1, substitution));
    }
    previous = row;
  }
  return previous.at(-1)!;
}
