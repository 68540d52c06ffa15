import type { Exchange } from '../../core/http/operation.js';
import { auditExport, auditNothing } from '../../stores/audit/audit-scope.js';

/**
 * Records the format, the filter and the number of items of an export. Requests for the headers, or for a later part of a
 * file, have no row.
 */
export function recordExport(
  x: Pick<Exchange, 'method' | 'header'>,
  details: { readonly format: string; readonly filter: unknown; readonly count?: number | undefined },
): void {
  const range = x.header('range');
  if (x.method === 'HEAD' || (range !== undefined && !/^bytes=0-/.test(range))) auditNothing();
  else auditExport(details);
}
