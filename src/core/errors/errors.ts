import { type FieldError, formatFieldErrors } from './field-errors.js';
import { suggestName } from './near-names.js';

/** Table of all API errors: code, HTTP status, title. RFC 9457 bodies are made from it. */

export const ERROR_TABLE = {
  'invalid-parameter': [400, 'Invalid parameter'],
  'unknown-parameter': [400, 'Unknown parameter'],
  'invalid-body': [400, 'Invalid request body'],
  'invalid-request': [400, 'Bad request'],
  unauthenticated: [401, 'Authentication required'],
  'entitlement-missing': [402, 'License entitlement required'],
  forbidden: [403, 'Forbidden'],
  // Codes of client certificate errors, which clients of the management API use.
  client_certificate_missing: [401, 'Authentication required'],
  client_certificate_expired: [401, 'Authentication required'],
  client_certificate_not_yet_valid: [401, 'Authentication required'],
  client_certificate_untrusted_issuer: [401, 'Authentication required'],
  client_certificate_untrusted_chain: [401, 'Authentication required'],
  client_certificate_revoked: [401, 'Authentication required'],
  client_certificate_invalid_eku: [401, 'Authentication required'],
  client_certificate_missing_identity: [401, 'Authentication required'],
  client_certificate_forwarding_invalid: [401, 'Authentication required'],
  client_certificate_forwarding_untrusted: [403, 'Forbidden'],
  client_certificate_wrong_environment: [403, 'Forbidden'],
  client_certificate_unmapped_identity: [403, 'Forbidden'],
  client_certificate_insufficient_rbac: [403, 'Forbidden'],
  'not-found': [404, 'Not found'],
  'method-not-allowed': [405, 'Method not allowed'],
  'not-acceptable': [406, 'Not acceptable'],
  'request-timeout': [408, 'Request timeout'],
  conflict: [409, 'Conflict'],
  gone: [410, 'Gone'],
  'precondition-failed': [412, 'Precondition failed'],
  'payload-too-large': [413, 'Payload too large'],
  'uri-too-long': [414, 'URI too long'],
  'unsupported-media-type': [415, 'Unsupported media type'],
  'range-not-satisfiable': [416, 'Range not satisfiable'],
  'expectation-failed': [417, 'Expectation failed'],
  unprocessable: [422, 'Unprocessable content'],
  'precondition-required': [428, 'Precondition required'],
  'too-many-requests': [429, 'Too many requests'],
  'headers-too-large': [431, 'Request header fields too large'],
  internal: [500, 'Internal server error'],
  'not-implemented': [501, 'Not implemented'],
  'bad-gateway': [502, 'Bad gateway'],
  'gateway-timeout': [504, 'Gateway timeout'],
  'insufficient-storage': [507, 'Insufficient storage'],
  unavailable: [503, 'Service unavailable'],
  'deadline-exceeded': [503, 'Deadline exceeded'],
} as const satisfies Record<string, readonly [number, string]>;

export type ErrorCode = keyof typeof ERROR_TABLE;

/**
 * Authentication challenges of 401 responses, each as a separate header line. A browser that finds an unknown scheme
 * first on a line ignores Basic after it and shows no login.
 */
const CHALLENGES = {
  'www-authenticate': ['Basic realm="graticule", charset="UTF-8"', 'Bearer realm="graticule"'],
};

export interface ErrorExtras {
  /** All wrong members, when there are several. */
  errors?: FieldError[];
  /** Response headers, for example Retry-After or Allow. */
  headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Type of the problem, where a standard has one for it. */
  type?: string;
  /** Other resources with the requested data. */
  links?: readonly ErrorLink[];
  /** For the log only. */
  cause?: unknown;
}

/** Link of an error. `path` is on this server. */
export interface ErrorLink {
  readonly path: string;
  readonly title: string;
}

/** A failure with a meaning. `message` is the detail that the client reads. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly title: string;
  readonly errors: FieldError[] | undefined;
  readonly headers: ErrorExtras['headers'];
  /** Type of the problem, where a standard has one for it. */
  readonly type: string | undefined;
  readonly links: ErrorExtras['links'];

  constructor(
    readonly code: ErrorCode,
    detail: string,
    extras: ErrorExtras = {},
  ) {
    super(detail, { cause: extras.cause });
    const [status, title] = ERROR_TABLE[code];
    this.status = status;
    this.title = title;
    this.errors = extras.errors;
    this.type = extras.type;
    this.links = extras.links;
    this.headers = status === 401 ? { ...CHALLENGES, ...extras.headers } : extras.headers;
  }
}

/** An error about members of a request: the detail has a sentence for each. */
export function fieldFailure(
  code: ErrorCode,
  errors: readonly FieldError[],
  extras: Omit<ErrorExtras, 'errors'> = {},
): ApiError {
  return new ApiError(code, formatFieldErrors(errors), { ...extras, errors: [...errors] });
}

/** A parameter with a wrong value: 400, and the body names it. */
export function badParameter(name: string, detail: string): ApiError {
  return fieldFailure('invalid-parameter', [{ name, detail }]);
}

/** A wrong member of a body: 400. `name` is its JSON pointer, or the name of a field of a form. */
export function badMember(name: string, detail: string): ApiError {
  return fieldFailure('invalid-body', [{ name, detail }]);
}

/** 404 for an object that a request names. `candidates` are the names that the caller may see; one near to the id is suggested. */
export function notFound(what: string, id: string, candidates: Iterable<string> = []): ApiError {
  return new ApiError('not-found', `There is no ${what} '${id}'.${suggestName(id, candidates)}`);
}
