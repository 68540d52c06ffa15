import { notFound } from '../../../core/errors/errors.js';
import type { SourceState, SourceStates } from '../../../services/catalog/source-states.js';

/** Throws `not-found`. */
export function requireSource(id: string, sources: Pick<SourceStates, 'find'>): SourceState {
  const source = sources.find(id);
  if (!source) throw notFound('source', id.slice(0, 100));
  return source;
}
