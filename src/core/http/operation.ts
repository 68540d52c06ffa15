import type { Static, TSchema } from 'typebox';
import type { ApiError } from '../errors/errors.js';
import type { Caller } from '../kit/callers.js';
import type { JsonBounds } from '../values/json-bounds.js';
import type { Hold } from '../values/presence.js';
import type { Compression } from './content-coding.js';
import type { Format } from './media.js';

/**
 * An operation is declared once. Its route, parameter parsing, body validation, TypeScript types, OpenAPI
 * entry, permission check, audit row, metric labels and contract test all come from this one literal.
 */

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A path, query or header parameter: one object for documentation, parsing and the TypeScript type. */
export interface Param<T = unknown> {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description: string;
  /** JSON Schema shown in OpenAPI. */
  readonly schema: TSchema;
  readonly required?: boolean;
  /** May be given several times: the values are joined by commas. */
  readonly repeatable?: boolean;
  /** Other query names that mean the same parameter. */
  readonly aliases?: readonly string[];
  /** Turns the raw (decoded) text into a value. `undefined` is passed when it is absent. Throws `badParameter`. */
  parse(raw: string | undefined): T;
}

export type Params = Record<string, Param>;
export type ParamValues<P extends Params> = { [K in keyof P]: P[K] extends Param<infer T> ? T : never };

/** APIs with an OpenAPI document, and other groups of operations. */
export type Surface =
  | 'features'
  | 'coverages'
  | 'tiles'
  | 'maps'
  | 'styles'
  | 'processes'
  | 'stac'
  | 'admin'
  | 'geoservices'
  | 'streaming'
  | 'site'
  | 'operations';

/** Value of the `svc.protocol` label. */
type Protocol =
  | 'OGC-Features'
  | 'OGC-Coverages'
  | 'OGC-Tiles'
  | 'OGC-Maps'
  | 'OGC-Processes'
  | 'STAC'
  | 'Admin'
  | 'Health'
  | 'Monitoring'
  | 'Streaming'
  | 'FeatureServer'
  | 'MapServer'
  | 'ImageServer'
  | 'VectorTileServer'
  | 'GPServer'
  | 'GeometryService'
  | 'WCS-2.0.1'
  | 'GeocodeServer'
  | 'Site';

/** Caller of a request. */
export interface Principal {
  readonly kind: 'anonymous' | 'api-key' | 'user' | 'oauth-client' | 'embed-key' | 'certificate';
  readonly id: string;
  readonly name: string;
  /** Permission labels such as `admin:read` or `*`, including labels from roles. */
  readonly permissions: readonly string[];
  /** Names of roles that policies may speak of. */
  readonly roles?: readonly string[];
  /** Claims of the caller by type, which row policies compare with attributes. */
  readonly claims?: Readonly<Record<string, readonly string[]>>;
  readonly tenantId?: string;
  /** Claims of a user from the sign-in provider. */
  readonly providerClaims?: Principal['claims'];
  /** Client certificate and sent authorities: DER in base64. */
  readonly certificates?: readonly string[];
  /** Rate limit of the caller, in addition to the limits of policies. */
  readonly limit?: { readonly requests: number; readonly seconds: number };
  /** Hash that identifies the browser session of the caller. */
  readonly sessionHash?: string;
  /** Id of the user's key that the request was made with. */
  readonly userKeyId?: string;
  /** Names of the bearer token of the caller and of its session. If either ends, the caller does. */
  readonly endsWith?: readonly string[];
  /** Expiry of the credential in milliseconds since 1970, if it is not checked elsewhere. Connections end then. */
  readonly expiresAt?: number;
  /** Layers outside of which nothing exists for this caller, whatever else it may: ids or numbers of collections. */
  readonly layers?: readonly string[];
}

/** Values of a claim. Its type can be any text, also the name of something that all objects have. */
export function claimValues(claims: NonNullable<Principal['claims']>, type: string): readonly string[] {
  return Object.hasOwn(claims, type) ? claims[type]! : [];
}

/** Names a caller where something is kept of it: `api-key:1`. */
export function formatActor({ kind, id }: Pick<Principal, 'kind' | 'id'>): string {
  return `${kind}:${id}`;
}

/** The principal as stored in jobs, which continue after its session ends. */
export function withoutSession({
  sessionHash: _,
  userKeyId: _key,
  endsWith: _names,
  expiresAt: _end,
  ...principal
}: Principal): Principal {
  return principal;
}

export const ANONYMOUS: Principal = {
  kind: 'anonymous',
  id: 'anonymous',
  name: 'anonymous',
  permissions: [],
};

/** Response of a handler. */
export interface Reply {
  readonly status: number;
  readonly mediaType?: string;
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Bytes of a body that comes in parts, where that is known. */
  readonly length?: number;
  /** Set when `body` is compressed already. */
  readonly encoding?: Compression;
  /** A list gives a line for each of its values. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Entity tag without quotes; `W/` first for a weak one. */
  readonly etag?: string;
  readonly cacheControl?: string;
  /** Tags by which a CDN in front of the server can purge the response. */
  readonly cacheTags?: readonly string[];
  /**
   * Called when the body is no longer used, because it was sent or the client disconnected. After a failure, it may
   * never be called.
   */
  readonly sent?: () => void;
  /**
   * Handler of the connection after the upgrade to a WebSocket (101). Only for requests with `Exchange.upgradable`.
   */
  readonly socket?: (socket: Socket) => SocketEvents;
  /** Cache of encoded forms, for an object that is the response to many requests. */
  readonly constant?: {
    block: ArrayBuffer | undefined;
    /** Body in other codings than that of `body`: one of them, or all for content that never changes. */
    forms?: Readonly<Partial<Record<Compression, Uint8Array>>>;
    /**
     * Additional coding that is kept after its first use; `any` means the last used one. Its bytes must be counted by
     * the owner of the response. Default: none.
     */
    readonly secondForm?: Compression | 'any' | undefined;
    /** The body is the same as long as the server runs: it is compressed as far as it can be. */
    readonly isStatic?: boolean;
  };
}

/** A WebSocket that is open. After `closed` nothing happens on it any more. */
export interface Socket {
  /** False when the client does not read as fast: the frame is on its way, further ones should wait for `drained`. */
  send(frame: string | Uint8Array, compress: boolean): boolean;
  /** Frames that are sent by the callback go out together. */
  together(send: () => void): void;
  /**
   * Subscribes to a topic: its messages are sent in order with other frames, at the end of the event-loop iteration
   * or before the next frame.
   */
  join(topic: string): void;
  leave(topic: string): void;
  /** Sends a frame to all who joined the topic; false when it is too large for that. */
  publish(topic: string, frame: string | Uint8Array): boolean;
  /** Bytes that the client has not read. */
  readonly unread: number;
  close(code: number, reason: string): void;
}

/** Events of a WebSocket. */
export interface SocketEvents {
  message(frame: Uint8Array, isBinary: boolean): void;
  drained(): void;
  closed(): void;
}

/** Holds what an operation has worked out from a target. */
export interface Memo<M = unknown> {
  value?: M;
}

/** Declares the type of the memo in an operation literal. */
export function declareMemo<M>(): Memo<M> {
  return {};
}

/** Request in progress, as seen by handlers. */
export interface Exchange<P extends Params = Params, B = unknown, M = unknown> {
  readonly operation: Operation;
  readonly params: ParamValues<P>;
  readonly method: string;
  /** Values that a handler computes from the target (path and query), cached with the target. */
  readonly memo: Memo<M>;
  readonly body: B;
  /** Bytes of the request body when the operation's body is `streamed`; reading applies backpressure. */
  readonly upload: AsyncIterable<Uint8Array>;
  /** Negotiated representation. Default: the first of `operation.formats`. */
  readonly format: Format;
  readonly principal: Principal;
  /** Request path without query. */
  readonly path: string;
  /** Query string as it came, without `?`. */
  readonly query: string;
  /** Public origin (and path prefix) for links, without a trailing slash. */
  readonly baseUrl: string;
  /** Caller of the tasks of the request. */
  readonly caller?: Caller;
  /** IP address of the client, also behind trusted proxies. Empty if the connection was lost before it was read. */
  readonly clientAddress: string;
  readonly correlationId: string;
  /** Whether the client requests a WebSocket on a path that supports it. */
  readonly upgradable: boolean;
  /** Trace of this request when tracing is on; opaque to handlers. */
  readonly span?: unknown;
  /** Set for requests with an idempotency key. */
  readonly hold?: Hold;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  header(name: string): string | undefined;
  /**
   * Identifies the caller by a token in the `streamed` body, unless credentials came with the head of the request. Throws
   * `unauthenticated`.
   */
  identify?(token: string): Promise<void>;
  /** Adds an entry to the Server-Timing header. Milliseconds. */
  timing(stage: string, milliseconds: number): void;
  /**
   * Adds to the time of a stage in the Server-Timing header, and names the place of the work. Callers without a key do
   * not receive it.
   */
  stage?(stage: ResponseStage, milliseconds: number, place?: string): void;
}

/** Stages of a response, in the order of the header. */
export const RESPONSE_STAGES = ['cache', 'queue', 'database', 'render', 'encode'] as const;
export type ResponseStage = (typeof RESPONSE_STAGES)[number];

export interface ResponseDoc {
  readonly description: string;
  /** Media type -> schema; `null` for bytes. */
  readonly content?: Readonly<Record<string, TSchema | null>>;
}

export interface BodySpec<S extends TSchema = TSchema> {
  readonly schema: S;
  /** Media types taken; the first is documented first. */
  readonly mediaTypes: readonly string[];
  readonly required: boolean;
  /**
   * Format of the body. Default: `json`. Forms are detected by their media type. The handler of `parts` receives a list of
   * byte arrays and checks them itself.
   */
  readonly form?: 'json' | 'features' | 'bytes' | 'parts';
  /** Members whose text may be JSON: see `BodyReadOptions`. */
  readonly jsonMembers?: readonly string[];
  /** Members whose numbers keep their digits: see `parseJsonExactly`. */
  readonly exactMembers?: readonly string[];
  /** Converts the value to fit the schema. It runs on the event loop and inspects only the outermost members. */
  readonly fit?: (value: unknown) => unknown;
  /** Matches the names of members at every depth without regard to upper and lower case, and drops members that the schema does not name. See `memberBinder`. */
  readonly bindsAnyCase?: boolean;
  /** JSON with integers that a double would round is refused outside of exact members: see `findRoundedInteger`. */
  readonly refusesRounding?: boolean;
  /** Maximum bytes. Default: `LIMITS.bodyBytes`. */
  readonly maxBytes?: number;
  /** Advice for clients with larger bodies. */
  readonly advice?: string;
  /** Limits of the JSON body, if they differ from the defaults. Anonymous clients have lower limits, see `LIMITS`. */
  readonly bounds?: Partial<JsonBounds>;
  /** The body is not collected: the handler reads `exchange.upload`. `schema` only documents it. */
  readonly streamed?: boolean;
}

export interface Operation {
  /** operationId, unique in the server: `features.getItems`, `admin.apiKeys.create`. */
  readonly id: string;
  readonly method: Method;
  /** OpenAPI path template below the origin: `/ogc/features/collections/{collectionId}`. */
  readonly path: string;
  /** Whether the last parameter of the path is the rest of the path, with its slashes. */
  readonly takesRest?: boolean;
  readonly surface: Surface;
  readonly protocol: Protocol;
  /** Name of a span around the operation. Spans of its tasks are children of it. */
  readonly span?: string | undefined;
  readonly summary: string;
  readonly description?: string;
  /** OpenAPI tag: the group. */
  readonly tag?: string;
  readonly params: Params;
  readonly formats: readonly Format[];
  /** Returns an error message for a format that another operation returns. */
  describeFormat?(f: string, path: string): string | undefined;
  readonly body?: BodySpec;
  readonly responses: Readonly<Record<number, ResponseDoc>>;
  /** `public`, `authenticated` (the handler decides further), or the required permission label. */
  readonly permission: string;
  /** False: the contract reserves the path, and it returns 501. */
  readonly built: boolean;
  /** Requests of this server to the caller: runtime expression of the URL, by name (OpenAPI). */
  readonly callbacks?: Readonly<Record<string, string>>;
  /** Whether a request with an Idempotency-Key is executed only once, and repetitions get the first response. */
  readonly repeatable?: boolean;
  /**
   * Whether responses have an ETag. Default: those of APIs whose documents have them. `checked`: If-Match is also checked (412).
   * `required`: a request without If-Match is refused (428), and one with another state is a conflict (409).
   */
  readonly entityTag?: 'none' | 'sent' | 'checked' | 'required';
  /** Whether responses also have the header X-Correlation-Id. */
  readonly correlates?: boolean;
  /**
   * True: the cookie of a session counts also where neither Origin nor Sec-Fetch-Site comes with it, as from programs. Only
   * for operations by which the page of another site, whose browser sends neither, would gain nothing.
   */
  readonly takesSessionOfPrograms?: boolean;
  /** Whether the operation reads the Authorization header itself, so that it does not authenticate the caller. */
  readonly ownCredentials?: boolean;
  /**
   * True: an audit row is written with the outcome. Only for operations that change or export something.
   */
  readonly audited?: boolean;
  /** True: the audit row of a successful request is a DataExport. */
  readonly exports?: boolean;
  /** Query parameters beyond `params` are let through to `exchange.query`. Default: unknown ones give 400. */
  readonly openQuery?: boolean;
  /** Whether the method is available for a target, for any caller or for one. Default: yes. */
  allowed?(path: Readonly<Record<string, string>>, principal?: Principal): boolean;
  /** The path may become a WebSocket: see `Reply.socket`. */
  readonly socket?: boolean;
  /** Health probes: logged at Verbose level. */
  readonly quiet?: boolean;
  /** True: a key or a token may come as the parameter `token`, or in the header X-Esri-Authorization. */
  readonly takesToken?: boolean;
  /** Says failures where that is not by a problem document and its status, in the version that the request names. */
  failure?(error: ApiError, exchange: Pick<Exchange, 'query'>): Reply;
  /** Converts the response to the form that the request expects, also for errors. */
  present?(exchange: Pick<Exchange, 'query'>, reply: Reply): Reply;
  run(exchange: Exchange): Reply | Promise<Reply>;
}

export interface OperationSpec<P extends Params, S extends TSchema, M>
  extends Omit<Operation, 'params' | 'body' | 'run' | 'built' | 'formats'> {
  readonly params?: P;
  readonly formats?: readonly Format[];
  readonly body?: BodySpec<S>;
  /** The memo that `declareMemo` declared for `exchange.memo`. */
  readonly memo?: Memo<M>;
  run(exchange: Exchange<P, Static<S>, M>): Reply | Promise<Reply>;
}

const NO_PARAMS: Params = {};

/** Declares a built operation. Types of `run` follow from `params`, `body` and `memo`. */
export function defineOperation<
  P extends Params = Record<never, never>,
  S extends TSchema = TSchema,
  M = unknown,
>(spec: OperationSpec<P, S, M>): Operation {
  // Handlers are typed by their own parameters; the dispatcher only ever calls them with parsed ones.
  const run = spec.run as unknown as Operation['run'];
  return { ...spec, params: spec.params ?? NO_PARAMS, formats: spec.formats ?? [], built: true, run };
}
