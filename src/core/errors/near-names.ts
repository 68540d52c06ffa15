/** Maximum number of candidates for suggestions. Further candidates are not compared. */
const MAX_CANDIDATES = 300;
const MAX_LENGTH = 64;
const MAX_DISTANCE = 3;

/** ` Did you mean 'countries'?` for the candidate nearest to a wrong name, or nothing if none is near. */
export function suggestName(name: string, candidates: Iterable<string>): string {
  const near = findNearName(name, candidates);
  return near === undefined ? '' : ` Did you mean '${near}'?`;
}

const MAX_LISTED = 20;

/** Advice for an unknown name: the most similar candidate, otherwise all candidates. */
export function adviseName(name: string, candidates: Iterable<string>): string {
  const all = [...candidates];
  const suggestion = suggestName(name, all);
  if (suggestion !== '') return suggestion;
  return all.length === 0 ? '' : ` Use ${listNames(all)}.`;
}

/** `a, b or c`; the first twenty of more names. */
export function listNames(names: readonly string[], conjunction = 'or'): string {
  if (names.length > MAX_LISTED)
    return `${names.slice(0, MAX_LISTED).join(', ')}, … (${names.length} in all)`;
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')} ${conjunction} ${names.at(-1)}`;
}

/** The candidate that a third of the letters, at most three, separates from a name; the first of the nearest ones. */
export function findNearName(name: string, candidates: Iterable<string>): string | undefined {
  if (name === '' || name.length > MAX_LENGTH) return undefined;
  const lowerName = name.toLowerCase();
  // Short names are near to everything.
  let limit = name.length < 3 ? 0 : Math.min(MAX_DISTANCE, Math.ceil(name.length / 3));
  let near: string | undefined;
  let compared = 0;
  for (const candidate of candidates) {
    compared += 1;
    if (compared > MAX_CANDIDATES) break;
    if (candidate === name || Math.abs(candidate.length - name.length) > limit) continue;
    const distance = computeDistance(lowerName, candidate.toLowerCase());
    if (distance > limit) continue;
    near = candidate;
    if (distance === 0) break;
    limit = distance - 1;
  }
  return near;
}

/** Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours. */
function computeDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min(row[j - 1]! + 1, last[j]! + 1, last[j - 1]! + same);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) least = Math.min(least, before[j - 2]! + 1);
      row.push(least);
    }
    before = last;
    last = row;
  }
  return last[b.length]!;
}
