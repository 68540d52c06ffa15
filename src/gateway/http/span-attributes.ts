import type { Operation } from '../../core/http/operation.js';
import type { HttpExchange } from './exchange.js';

/** Attributes of the span of a request. */
type Attributes = Record<string, string | number | boolean>;

/** Path parameters in span attributes. Tiles are counted from the north-west corner. */
const FROM_PATH: Readonly<Record<string, readonly string[]>> = {
  'svc.service.id': ['serviceId', 'serviceName'],
  'svc.layer.id': ['layerId'],
  'svc.collection.id': ['collectionId'],
  'svc.job.id': ['jobId'],
  'svc.tile.z': ['tileMatrix', 'z', 'level'],
  'svc.tile.x': ['tileCol', 'x', 'column'],
  'svc.tile.y': ['tileRow', 'y', 'row'],
};
/** Characters of a value that a span keeps. */
const MAX_VALUE = 200;
/** Milliseconds from which a request is `normal`, and `slow`; it is `fast` below. */
const NORMAL_MS = 100;
const SLOW_MS = 1000;

/** Returns the attributes of the span of a request. Call it when the response is sent. */
export function spanAttributes(
  { correlationId, params = {} }: Pick<HttpExchange, 'correlationId'> & { params?: object },
  operation: Operation | undefined,
  { status, durationMs }: { status: number; durationMs: number },
): Attributes {
  const attributes: Attributes = {
    'svc.protocol': operation?.protocol ?? 'Unknown',
    'svc.operation': operation?.id ?? 'unknown',
    'svc.correlation.id': correlationId,
    'svc.latency.category': durationMs < NORMAL_MS ? 'fast' : durationMs < SLOW_MS ? 'normal' : 'slow',
    'http.response.status_code': status,
  };
  for (const [attribute, names] of Object.entries(FROM_PATH)) {
    const value = names
      .map((name) => (params as Record<string, unknown>)[name])
      .find((one) => one !== undefined);
    if (typeof value === 'string' || typeof value === 'number')
      attributes[attribute] = typeof value === 'string' ? value.slice(0, MAX_VALUE) : value;
  }
  if (status >= 500) attributes['error'] = true;
  return attributes;
}

/**
 * The `operation` of counters of errors: the last segment of the path that is a word, in small letters. `unknown` without
 * one.
 */
export function errorOperation(operation: Pick<Operation, 'path'> | undefined): string {
  const words = operation?.path.split('/').filter((segment) => /^[A-Za-z]+$/.test(segment));
  return words?.at(-1)?.toLowerCase() ?? 'unknown';
}
