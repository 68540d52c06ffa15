/** Keys that web pages carry in the open: what they are good for is bound to the page. */

export interface EmbedScope {
  /** Origins of the pages that may use the key. */
  readonly allowedEmbedOrigins: readonly string[];
  /** Origins of this server that it may be used at; all when empty. */
  readonly allowedServiceOrigins: readonly string[];
  /** Ids or numbers of the collections that it shows; all that everybody may read when empty. */
  readonly allowedContentIds: readonly string[];
  readonly edition: string | null;
  readonly tenantId: string | null;
  readonly integrationId: string | null;
  /** Requests in a window; 0: no limit of its own. */
  readonly rateLimitRequestsPerWindow: number;
  readonly rateLimitWindowSeconds: number;
}

/** A key as it is stored: of the key itself only the hash. Times are milliseconds since 1970. */
export interface EmbedKey {
  readonly name: string;
  readonly prefix: string;
  readonly hash: string;
  readonly scope: EmbedScope;
  readonly expiresAt: number | null;
  readonly rotatedAt: number | null;
  readonly revokedAt: number | null;
}

/** What pages do with a key. */
export const EMBED_EVENTS = ['view', 'configChange', 'search', 'identify', 'policyDenial'] as const;
export type EmbedEvent = (typeof EMBED_EVENTS)[number];

/** What use is counted by. */
export const EMBED_GROUPS = ['integration', 'tenant', 'origin', 'service', 'layer', 'eventType'] as const;
export type EmbedGroup = (typeof EMBED_GROUPS)[number];
export type EmbedUse = Readonly<Record<EmbedGroup, string>>;
