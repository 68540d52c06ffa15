/** Keys that web pages carry in the open: what they are good for is bound to the page. */

export interface EmbedScope {
  /** Origins of the pages that may use the key. */
  readonly allowedEmbedOrigins: readonly string[];
  /** Origins of this server at which the key is valid. Empty: all origins. */
  readonly allowedServiceOrigins: readonly string[];
  /** Ids or numbers of the collections that the key shows. Empty: all public collections. */
  readonly allowedContentIds: readonly string[];
  readonly edition: string | null;
  readonly tenantId: string | null;
  readonly integrationId: string | null;
  /** Maximum requests in a window. 0 disables the limit. */
  readonly rateLimitRequestsPerWindow: number;
  readonly rateLimitWindowSeconds: number;
}

/** Stored embed key. Only the hash of the key is stored. Times are milliseconds since 1970. */
export interface EmbedKey {
  readonly name: string;
  readonly prefix: string;
  readonly hash: string;
  readonly scope: EmbedScope;
  readonly expiresAt: number | null;
  readonly rotatedAt: number | null;
  readonly revokedAt: number | null;
}

/** Events that pages with an embed key report. */
export const EMBED_EVENTS = ['view', 'configChange', 'search', 'identify', 'policyDenial'] as const;
export type EmbedEvent = (typeof EMBED_EVENTS)[number];

/** Groupings of embed key usage. */
export const EMBED_GROUPS = ['integration', 'tenant', 'origin', 'service', 'layer', 'eventType'] as const;
export type EmbedGroup = (typeof EMBED_GROUPS)[number];
export type EmbedUse = Readonly<Record<EmbedGroup, string>>;
