import { createHash } from 'node:crypto';
import { hasFeatures } from '../../core/abilities.js';
import type { Collection } from '../../core/collection.js';

/** What a layer hides whose settings hide nothing. */
export const NOTHING_HIDDEN = '';

/** Names what the settings of a layer hide from everybody: rows by its permanent filter, and fields. */
export function hiddenBySettings(collection: Collection): string {
  if (!hasFeatures(collection) || !collection.rule) return NOTHING_HIDDEN;
  const { source, rule } = collection;
  const shown = new Set(source.fields.map(({ name }) => name));
  const fields = rule.stored.fields.map(({ name }) => name).filter((name) => !shown.has(name));
  if (rule.rows === undefined && fields.length === 0) return NOTHING_HIDDEN;
  const parts = JSON.stringify([rule.rows ?? null, fields.sort()]);
  return createHash('sha256').update(parts).digest('hex').slice(0, 16);
}
