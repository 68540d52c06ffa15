import { basename, dirname, extname, join } from 'node:path';

/** Returns the path of a file of a series: default.gpkg is the first, default-2.gpkg the second. */
export function seriesFile(first: string, number: number): string {
  if (number === 1) return first;
  const extension = extname(first);
  return `${first.slice(0, -extension.length)}-${number}${extension}`;
}

/** Returns the number of a file in a series, counted from 1; undefined for a file that does not belong to it. */
export function seriesNumber(first: string, path: string): number | undefined {
  if (dirname(path) !== dirname(first)) return undefined;
  const extension = extname(first);
  const [name, firstName] = [basename(path, extension), basename(first, extension)];
  if (name === firstName) return extname(path) === extension ? 1 : undefined;
  const digits = name.startsWith(`${firstName}-`) ? name.slice(firstName.length + 1) : '';
  const number = /^[1-9]\d{0,5}$/.test(digits) ? Number(digits) : 1;
  return number > 1 ? number : undefined;
}

/** Returns the paths of these names in the folder of a series that belong to it, in the order of their numbers. */
export function seriesFiles(first: string, names: readonly string[]): string[] {
  const numbered = names.flatMap((name) => {
    const path = join(dirname(first), name);
    const number = seriesNumber(first, path);
    return number === undefined ? [] : [{ path, number }];
  });
  return numbered.sort((one, other) => one.number - other.number).map(({ path }) => path);
}
