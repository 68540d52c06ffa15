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

/** The surfaces that have an interface document of their own, and those that have none. */
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

/** Who is asking. */
export interface Principal {
  readonly kind: 'anonymous' | 'api-key' | 'user' | 'oauth-client' | 'embed-key' | 'certificate';
  readonly id: string;
  readonly name: string;
  /** Labels such as `admin:read` or `*`, those of the roles among them. */
  readonly permissions: readonly string[];
  /** Names of roles that policies may speak of. */
  readonly roles?: readonly string[];
  /** What is known about the caller, by type: policies for rows compare attributes with it. */
  readonly claims?: Readonly<Record<string, readonly string[]>>;
  readonly tenantId?: string;
  /** What its provider alone says of a user. */
  readonly providerClaims?: Principal['claims'];
  /** What it came with, and the authorities that were sent along: DER in base64. */
  readonly certificates?: readonly string[];
  /** A rate limit of its own, beside those of policies. */
  readonly limit?: { readonly requests: number; readonly seconds: number };
  /** Of a caller who is signed in with a browser: names the session. */
  readonly sessionHash?: string;
  /** Names of the bearer token of the caller and of its session. If either ends, the caller does. */
  readonly endsWith?: readonly string[];
  /** Milliseconds since 1970 at which what it came with ends, where that is not looked up: connections end then. */
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

/** The principal as jobs keep it: they go on when its session ends. */
export function withoutSession({
  sessionHash: _,
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

/** What a handler answers. */
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
  /** Names by which a CDN before the server can be told to forget the answer. */
  readonly cacheTags?: readonly string[];
  /** Called once the body is not looked at any more: it is out, or the client is gone. Perhaps never, after a failure. */
  readonly sent?: () => void;
  /** The connection becomes a WebSocket (101). Only for requests that ask for that: see `Exchange.upgradable`. */
  readonly socket?: (socket: Socket) => SocketEvents;
  /** Given when this very object answers many requests: what is made from it is kept in here. */
  readonly constant?: {
    block: ArrayBuffer | undefined;
    /** The body in other codings than that of `body`: one of them, all of what never changes. */
    forms?: Readonly<Partial<Record<Compression, Uint8Array>>>;
    /**
     * The coding of the one further form that is kept once it was asked for, `any` for the last one: whoever keeps the
     * answer has counted its bytes. None when absent.
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
   * From now on what is published to the topic is sent here too, in its place among other frames: at the end of the turn,
   * or before the next frame of its own.
   */
  join(topic: string): void;
  leave(topic: string): void;
  /** Sends a frame to all who joined the topic; false when it is too large for that. */
  publish(topic: string, frame: string | Uint8Array): boolean;
  /** Bytes that the client has not read. */
  readonly unread: number;
  close(code: number, reason: string): void;
}

/** What happens on a WebSocket. */
export interface SocketEvents {
  message(frame: Uint8Array, isBinary: boolean): void;
  drained(): void;
  closed(): void;
}

/** Holds what an operation has worked out from a target. */
export interface Memo<M = unknown> {
  value?: M;
}

/** Says, in the literal of an operation, what its memo holds. */
export function declareMemo<M>(): Memo<M> {
  return {};
}

/** One request while it is being answered, as handlers see it. */
export interface Exchange<P extends Params = Params, B = unknown, M = unknown> {
  readonly operation: Operation;
  readonly params: ParamValues<P>;
  readonly method: string;
  /** Lives as long as this target (path and query) is remembered: for what a handler works out from it. */
  readonly memo: Memo<M>;
  readonly body: B;
  /** Bytes of the request body when the operation's body is `streamed`; reading applies backpressure. */
  readonly upload: AsyncIterable<Uint8Array>;
  /** The negotiated representation; the first of `operation.formats` when nothing was asked for. */
  readonly format: Format;
  readonly principal: Principal;
  /** Request path without query. */
  readonly path: string;
  /** Query string as it came, without `?`. */
  readonly query: string;
  /** Public origin (and path prefix) for links, without a trailing slash. */
  readonly baseUrl: string;
  /** Who the request's tasks are done for. */
  readonly caller?: Caller;
  /** IP address of the client, behind trusted proxies too; empty when the connection was lost before it was read. */
  readonly clientAddress: string;
  readonly correlationId: string;
  /** Whether the client asks for a WebSocket, on a path that has one. */
  readonly upgradable: boolean;
  /** Trace of this request when tracing is on; opaque to handlers. */
  readonly span?: unknown;
  /** Of a request with an idempotency key. */
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
}

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
  /** How the bytes are read; `json` when absent. Forms are read as such by their media type. */
  readonly form?: 'json' | 'features' | 'bytes';
  /** Members whose text may be JSON: see `BodyReadOptions`. */
  readonly jsonMembers?: readonly string[];
  /** Members whose numbers keep their digits: see `parseJsonExactly`. */
  readonly exactMembers?: readonly string[];
  /** Makes what was read fit the schema, on the event loop: it looks at the outermost members only. */
  readonly fit?: (value: unknown) => unknown;
  /** Members bind in any case at every depth, and members that the schema does not name are dropped: see `memberBinder`. */
  readonly bindsAnyCase?: boolean;
  /** JSON with integers that a double would round is refused outside of exact members: see `findRoundedInteger`. */
  readonly refusesRounding?: boolean;
  /** Bytes; `LIMITS.bodyBytes` when absent. */
  readonly maxBytes?: number;
  /** What a client is told to do that has more. */
  readonly advice?: string;
  /** What the JSON may hold where that is not the usual. Anonymous clients may send less: see `LIMITS`. */
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
  readonly body?: BodySpec;
  readonly responses: Readonly<Record<number, ResponseDoc>>;
  /** `public`, `authenticated` (the handler decides further), or the permission label that the principal must hold. */
  readonly permission: string;
  /** False: the path is reserved by the contract and answers 501. */
  readonly built: boolean;
  /** Requests that this server makes for who calls it: the runtime expression of the address, by name (OpenAPI). */
  readonly callbacks?: Readonly<Record<string, string>>;
  /** True: a request with an Idempotency-Key is carried out once, and whoever repeats it gets the first answer. */
  readonly repeatable?: boolean;
  /** Whether answers have an ETag beyond that of their surface; `checked`: requests are refused by If-Match, too (412). */
  readonly entityTag?: 'sent' | 'checked';
  /** True: each answer names its request in the header X-Correlation-Id, too. */
  readonly correlates?: boolean;
  /**
   * True: the cookie of a session counts also where neither Origin nor Sec-Fetch-Site comes with it, as from programs. Only
   * for operations by which the page of another site, whose browser sends neither, would gain nothing.
   */
  readonly takesSessionOfPrograms?: boolean;
  /** True: the operation looks at the Authorization header itself, and nobody is known by it. */
  readonly ownCredentials?: boolean;
  /** True: an audit row is written with the outcome. Only for operations that change something. */
  readonly audited?: boolean;
  /** Query parameters beyond `params` are let through to `exchange.query`. Default: unknown ones give 400. */
  readonly openQuery?: boolean;
  /** Whether the method works on a target that it is routed to, for anybody or for one caller; where absent it does. */
  allowed?(path: Readonly<Record<string, string>>, principal?: Principal): boolean;
  /** The path may become a WebSocket: see `Reply.socket`. */
  readonly socket?: boolean;
  /** Health probes: logged at Verbose level. */
  readonly quiet?: boolean;
  /** True: a key or a token may come as the parameter `token`, or in the header X-Esri-Authorization. */
  readonly takesToken?: boolean;
  /** Says failures where that is not by a problem document and its status, in the version that the request names. */
  failure?(error: ApiError, exchange: Pick<Exchange, 'query'>): Reply;
  /** The answer as this request wants it, also one that says what failed. */
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
