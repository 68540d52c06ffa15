import { hasFeatures } from '../../core/catalog/abilities.js';
import type { ChangedCollection } from '../../core/catalog/catalog-change.js';
import type { Collection } from '../../core/catalog/collection.js';
import type { FileStyle, MapStyle, NamedStyle } from '../../core/styles/model.js';
import { slug } from '../kit/slug.js';
import type { Log } from '../telemetry/log.js';
import { DEFAULT_STYLE } from './style-choice.js';

/** Members of a collection that result from the styles of its file. */
interface StylesOfFile {
  style: MapStyle;
  styles?: readonly NamedStyle[];
  unreadStyles?: readonly FileStyle[];
}

/** `fallback` is drawn where none of them is the default. */
export function buildFileStyles(fallback: MapStyle, all: readonly FileStyle[] = []): StylesOfFile {
  const read = all.filter(({ layers }) => layers.length > 0);
  const unread = all.filter(({ layers }) => layers.length === 0);
  const styles = named(read);
  const position = read.findIndex(({ isDefault }) => isDefault);
  return {
    style: styles[position]?.style ?? fallback,
    ...(styles.length > 0 ? { styles } : {}),
    ...(unread.length > 0 ? { unreadStyles: unread } : {}),
  };
}

function named(read: readonly FileStyle[]): NamedStyle[] {
  const ids = new Set([DEFAULT_STYLE]);
  return read.map(({ name, layers, diagnostics }) => {
    const base = slug(name);
    let id = base;
    for (let n = 2; ids.has(id); n++) id = `${base}-${n}`;
    ids.add(id);
    return { id, title: name, style: { version: 0, layers }, diagnostics };
  });
}

/** Maximum diagnostics of one style that are logged. */
const TOLD = 5;

/** Logs the lost parts of styles in files that are new, or were not published before. */
export function tellLostStyles(changed: readonly ChangedCollection[], log: Pick<Log, 'write'>): void {
  for (const { before, after: collection } of changed) {
    if (!hasFeatures(collection) || before?.version === collection.version) continue;
    const { styles = [], unreadStyles = [] } = collection;
    for (const { name, diagnostics } of unreadStyles)
      log.write('style.unreadable', about(collection, name, diagnostics));
    for (const { title, diagnostics = [] } of styles)
      if (diagnostics.length > 0) log.write('style.partial', about(collection, title, diagnostics));
  }
}

function about(
  { id }: Collection,
  style: string,
  diagnostics: FileStyle['diagnostics'],
): Record<string, unknown> {
  const messages = diagnostics.slice(0, TOLD).map(({ construct, message }) => `${construct}: ${message}`);
  return { Collection: id, Style: style, Lost: messages, LostCount: diagnostics.length };
}
