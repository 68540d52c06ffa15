import { ApiError, fieldFailure } from '../../../core/errors/errors.js';
import { formatFieldErrors, withReceived } from '../../../core/errors/field-errors.js';
import { splitPointer } from '../../../core/errors/json-pointer.js';
import { suggestName } from '../../../core/errors/near-names.js';
import type { Exchange, Operation } from '../../../core/http/operation.js';

/** Errors of parameters and members name the value that was received. */

/** Characters of a JSON text that is parsed to show its value. */
const MAX_JSON_TEXT = 1000;

/** Reads the value of a parameter by its name, or of a member by its JSON pointer; undefined if there is none. */
export type ValueReader = (name: string) => unknown;

/** The error with the values of the parameters and members that it names, unless it has them already. */
export function nameReceived(error: ApiError, read: ValueReader): ApiError {
  const { code, errors: before } = error;
  if (!before || code === 'unknown-parameter' || error.status >= 500) return error;
  const errors = before.map((one) =>
    one.code === 'required' ? one : withReceived(one, read(one.path ?? one.name)),
  );
  if (errors.every((one, i) => one === before[i])) return error;
  const { headers, type, cause } = error;
  // A message that is not made of the errors is the thrower's own.
  const message = error.message === formatFieldErrors(before) ? formatFieldErrors(errors) : error.message;
  return new ApiError(code, message, { errors, headers, cause, ...(type === undefined ? {} : { type }) });
}

/** The error about a parameter under the name by which the client sent it. */
export function renameField(error: ApiError, name: string, sent: string): ApiError {
  if (name === sent || !error.errors || error.message !== formatFieldErrors(error.errors)) return error;
  const errors = error.errors.map((one) => (one.name === name ? { ...one, name: sent } : one));
  return fieldFailure(error.code, errors, {
    cause: error.cause,
    ...(error.headers ? { headers: error.headers } : {}),
  });
}

/** Runs a function; an error that it throws names the values that were received. */
export function namingReceived<T>(read: ValueReader, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof ApiError ? nameReceived(error, read) : error;
  }
}

/** The value of a parameter in a query, whose names may be in any case. */
export function valueInQuery(query: string, name: string): string | undefined {
  const wanted = name.toLowerCase();
  for (const [key, value] of new URLSearchParams(query)) if (key.toLowerCase() === wanted) return value;
  return undefined;
}

/** The value of a parameter or member of a request, by its name or its JSON pointer. */
export function valueInRequest(
  x: Pick<Exchange, 'query' | 'header'> & { readonly body?: unknown; readonly params?: unknown },
  operation: Pick<Operation, 'params'> | undefined,
  name: string,
): unknown {
  if (name.startsWith('/')) return valueAt(x.body, name);
  const inQuery = valueInQuery(x.query, name);
  if (inQuery !== undefined) return inQuery;
  const [key, param] = Object.entries(operation?.params ?? {}).find(([, one]) => one.name === name) ?? [];
  if (param?.in === 'header') return x.header(name.toLowerCase());
  const value = param?.in === 'path' ? (x.params as Record<string, unknown> | undefined)?.[key!] : undefined;
  return value ?? memberOf(x.body, name);
}

/** The value at a JSON pointer. */
function valueAt(value: unknown, pointer: string): unknown {
  const segments = splitPointer(pointer).filter((segment) => segment !== '');
  const member = segments.reduce(memberOf, value);
  const isFeature = segments.includes('properties') || segments.includes('geometry');
  return isFeature && typeof member === 'string' ? parseJsonText(member) : member;
}

/** Bodies of edits have the geometry and the properties of features as JSON texts. */
function parseJsonText(text: string): unknown {
  if (text.length > MAX_JSON_TEXT) return text.startsWith('{') ? {} : text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The error about an unknown parameter with the name of a parameter of the operation that is near to it. */
export function suggestParameter(
  error: ApiError,
  operation: Pick<Operation, 'params'> | undefined,
): ApiError {
  const [one] = error.errors ?? [];
  if (error.code !== 'unknown-parameter' || !one || !operation || one.detail.includes('Did you mean'))
    return error;
  const names = Object.values(operation.params).flatMap((param) =>
    param.in === 'query' ? [param.name] : [],
  );
  const near = suggestName(one.name, names);
  if (near === '') return error;
  return fieldFailure(error.code, [{ ...one, detail: one.detail.replace(/ Use .*$|$/, near) }]);
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return undefined;
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}
