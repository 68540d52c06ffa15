import type { Field } from '../../sources/vector-source.js';
import { isExactNumber } from '../../values/exact-number.js';

/** Values of one attribute in a sample of rows. */
export interface FieldSample {
  readonly field: Pick<Field, 'name' | 'type'>;
  /** One for each row; null where there is none. */
  readonly values: readonly unknown[];
}

/** Distribution of the values of an attribute. */
export interface FieldProfile {
  readonly name: string;
  readonly type: Field['type'];
  readonly rows: number;
  readonly nulls: number;
  /** Finite numbers, ascending; empty for other types. */
  readonly numbers: readonly number[];
  /** Values as text with how often they occur, the most frequent first. */
  readonly distinct: readonly (readonly [string, number])[];
}

export function createFieldProfile({ field, values }: FieldSample): FieldProfile {
  const scalars = values.filter(
    (value) => value !== null && value !== undefined && (typeof value !== 'object' || isExactNumber(value)),
  );
  const counts = new Map<string, number>();
  for (const value of scalars) counts.set(String(value), (counts.get(String(value)) ?? 0) + 1);
  const numeric = field.type === 'integer' || field.type === 'number';
  const numbers = numeric ? scalars.map(Number).filter(Number.isFinite) : [];
  return {
    name: field.name,
    type: field.type,
    rows: values.length,
    nulls: values.length - scalars.length,
    numbers: numbers.sort((a, b) => a - b),
    distinct: [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)),
  };
}

/** Maximum categories with distinct colours. */
export const MAX_CATEGORIES = 12;

export interface Suitability {
  /** 0 when it cannot be drawn by classes. */
  readonly score: number;
  readonly by: 'numbers' | 'categories';
  readonly reason: string;
}

/** Suitability of an attribute for colouring features. */
export function suitability(profile: FieldProfile): Suitability {
  const { rows, nulls, distinct, numbers, name } = profile;
  const filled = rows === 0 ? 0 : 1 - nulls / rows;
  const count = distinct.length;
  if (count < 2 || filled < 0.2)
    return { score: 0, by: 'categories', reason: 'Its values are all the same, or missing.' };
  const isKey =
    count === rows - nulls &&
    (profile.type === 'integer' || profile.type === 'string') &&
    /(?:^|_)(?:id|fid|code|uuid|key)$|id$/i.test(name);
  if (numbers.length > 0 && count > MAX_CATEGORIES) {
    // Codes and numbers of things are unique, and say nothing by their size.
    const score = filled * (isKey ? 0.05 : quantity(name) ? 1 : 0.7);
    return {
      score,
      by: 'numbers',
      reason: `${count} different numbers between ${numbers[0]} and ${numbers.at(-1)}.`,
    };
  }
  const few = count <= MAX_CATEGORIES;
  const repeated = 1 - count / Math.max(1, rows - nulls);
  const score = isKey ? 0.02 : filled * (few ? 0.9 * repeated : 0.25 * repeated);
  return { score, by: 'categories', reason: `${count} different values that distinguish the features.` };
}

/** Whether a name indicates a measured or counted quantity. */
function quantity(name: string): boolean {
  return /pop|density|area|count|total|rate|gdp|income|height|depth|temp|magnitude|speed|value|amount|percent|pct|elev/i.test(
    name,
  );
}
