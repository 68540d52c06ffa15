import type { Color } from './color-ramps.js';
import type { Colormap } from './raster-look.js';
import type { BandInfo, ThematicClass } from './rasters.js';

/** Classes and colours of a raster file, with the members of `gdalinfo -json`. */
export interface FileClasses {
  readonly colorTable?: { readonly entries: readonly (readonly number[])[] };
  readonly categories?: readonly string[];
  readonly rat?: AttributeTable;
}

interface AttributeTable {
  readonly fieldDefn: readonly { readonly name: string; readonly type: number; readonly usage: number }[];
  readonly row: readonly { readonly f: readonly (string | number)[] }[];
}

const MAX_CLASSES = 256;
/** More colours without names are an image, such as a scanned map. */
const MAX_UNNAMED = 32;

/** Usages of columns (GDALRATFieldUsage). */
const USAGE = { name: 2, min: 3, minMax: 5, red: 6, green: 7, blue: 8, alpha: 9 } as const;
/** GFT_Real: colours of such columns are from 0 to 1. */
const REAL = 1;

/** Classes of a band, by value. Undefined for quantities, and for colours that do not have a meaning. */
export function listClasses(
  { noData, statistics }: Pick<BandInfo, 'noData' | 'statistics'>,
  { colorTable, categories, rat }: FileClasses,
): ThematicClass[] | undefined {
  const table = rat && readTable(rat);
  const names = new Map(table?.map(({ value, name }) => [value, name]));
  categories?.forEach((name, value) => {
    if (name && !names.get(value)) names.set(value, name);
  });
  const colors = new Map<number, Color>();
  for (const [value, color] of colorTable?.entries.entries() ?? [])
    colors.set(value, color as unknown as Color);
  if (!colorTable) for (const { value, color } of table ?? []) if (color) colors.set(value, color);
  const isNamed = [...names.values()].some((name) => name !== '');
  const isUsed = (value: number) =>
    statistics === undefined || (value >= statistics.min && value <= statistics.max);
  const classes = [...colors]
    .filter(
      ([value, color]) => value !== noData && color[3] > 0 && (isNamed ? names.get(value) : isUsed(value)),
    )
    .map(([value, color]) => ({ value, name: names.get(value) || String(value), color }))
    .sort((a, b) => a.value - b.value);
  return classes.length === 0 || classes.length > (isNamed ? MAX_CLASSES : MAX_UNNAMED) ? undefined : classes;
}

/** Rows of single values; classes of ranges are not read. */
function readTable({ fieldDefn, row }: AttributeTable): { value: number; name: string; color?: Color }[] {
  const find = (usage: number, pattern: RegExp) => {
    const byUsage = fieldDefn.findIndex((field) => field.usage === usage);
    return byUsage >= 0 ? byUsage : fieldDefn.findIndex(({ name }) => pattern.test(name));
  };
  if (fieldDefn.some(({ usage }) => usage === USAGE.min)) return [];
  const value = find(USAGE.minMax, /^value$/i);
  const name = find(USAGE.name, /^(class|category|label|type|name)s?(_?names?)?$/i);
  const channels = [find(USAGE.red, /^red$/i), find(USAGE.green, /^green$/i), find(USAGE.blue, /^blue$/i)];
  const alpha = find(USAGE.alpha, /^alpha$/i);
  return row.slice(0, MAX_CLASSES * 4).map(({ f }, i) => {
    const channel = (index: number) =>
      Math.round(Number(f[index]) * (fieldDefn[index]!.type === REAL && Number(f[index]) <= 1 ? 255 : 1));
    const color = channels.every((index) => index >= 0)
      ? ([...channels.map(channel), alpha < 0 ? 255 : channel(alpha)] as unknown as Color)
      : undefined;
    return {
      value: value < 0 ? i : Number(f[value]),
      name: name < 0 ? '' : String(f[name]).trim(),
      ...(color && { color }),
    };
  });
}

/** The colours of classes. */
export function mapClasses(classes: readonly ThematicClass[]): Colormap {
  return {
    kind: 'values',
    values: classes.map(({ value }) => value),
    colors: classes.map(({ color }) => color),
  };
}
