import { LRUCache } from 'lru-cache';
import type { VectorSource } from '../../core/sources/vector-source.js';

/**
 * Every task contains its complete source, and a source with many fields is most of a task. A clone of the object
 * costs more than encoding a small tile. It therefore changes threads as text, written once per source and read once
 * per thread.
 */
const texts = new WeakMap<VectorSource, string>();
const sources = new LRUCache<string, VectorSource>({ max: 4096 });

type Part = { source?: VectorSource | string; layers?: Part[]; right?: Part };

/**
 * Returns a task input for sending, with its sources as text. A clone of a source with many fields takes longer than
 * encoding a small tile. No other member of a task may be called `source` or `layers`.
 */
export function packed(input: unknown): unknown {
  return mapped(input as Part, (source) => (typeof source === 'string' ? source : formatText(source)));
}

/** The input again, in the thread. */
export function unpacked(input: unknown): unknown {
  return mapped(input as Part, (source) => (typeof source === 'string' ? parseSource(source) : source));
}

function mapped(part: Part, change: (source: VectorSource | string) => VectorSource | string): Part {
  if (part.source) {
    const right = part.right && mapped(part.right, change);
    return { ...part, source: change(part.source), ...(right ? { right } : {}) };
  }
  if (part.layers) return { ...part, layers: part.layers.map((layer) => mapped(layer, change)) };
  return part;
}

function formatText(source: VectorSource): string {
  let text = texts.get(source);
  if (text === undefined) texts.set(source, (text = JSON.stringify(source)));
  return text;
}

function parseSource(text: string): VectorSource {
  let source = sources.get(text);
  if (!source) sources.set(text, (source = JSON.parse(text) as VectorSource));
  return source;
}
