/** What is wrong with files: texts by their paths. */
export function faults(texts: ReadonlyMap<string, string>): string[];
