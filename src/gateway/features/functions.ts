import { FUNCTIONS, type OperandKind } from '../../core/cql2/index.js';
import type { Exchange } from '../../core/http/operation.js';
import { FEATURES_PATH } from '../../core/http/paths.js';
import { formatLinks, META_FORMATS } from '../surface/common.js';

/** Type names of OGC 19-079r2, table 9. */
const TYPES: Partial<Record<OperandKind, string>> = {
  timestamp: 'datetime',
  interval: 'datetime',
  json: 'array',
};
const typeOf = (kind: OperandKind) => TYPES[kind] ?? kind;

/** Functions that a filter may call (OGC 19-079r2, 6.4). */
export function functionsDocument(x: Exchange) {
  return {
    functions: FUNCTIONS.map(({ name, description, args, returns }) => ({
      name,
      description,
      returns: [typeOf(returns)],
      arguments: args.map((argument) => ({ title: argument.name, type: argument.kinds.map(typeOf) })),
    })),
    links: formatLinks(x, `${FEATURES_PATH}/functions`, META_FORMATS),
  };
}
