import type { HostCheck } from '../observability/host-checks.js';

/** Facts about a server on which compliance checks are based. */
export interface ComplianceFacts {
  readonly operations: {
    readonly total: number;
    /** Ids of operations without a permission that do not serve to sign in. */
    readonly open: readonly string[];
    /** Ids of operations that change something and are not audited. */
    readonly unaudited: readonly string[];
  };
  readonly stateKey: boolean;
  readonly secrets: { readonly isValid: boolean; readonly message: string };
  /** Time of the newest key version. Null: there is none. */
  readonly keyIssuedAt: number | null;
  readonly transport: {
    readonly servesTls: boolean;
    readonly isBehindTls: boolean;
    readonly certificate: HostCheck['status'] | undefined;
  };
  readonly layers: { readonly total: number; readonly anonymous: number };
  readonly users: { readonly active: number };
  readonly providers: { readonly enabled: number };
  readonly apiKeys: {
    readonly active: number;
    readonly withoutEnd: number;
    readonly unused: number;
    readonly unrestricted: number;
  };
  readonly passwordAttempts: number;
  readonly auditChain: { readonly rows: number; readonly broken: { id: number; reason: string } | undefined };
  readonly checkpoints: { readonly newestAt: number | null; readonly rowsSince: number };
  readonly auditReview: { readonly isForwarded: boolean; readonly exports: number };
  readonly noticeChannels: readonly string[];
  readonly monitoring: { readonly metrics: boolean; readonly otlp: boolean };
  readonly health: string;
  /** Undefined: the server cannot see the backups of its state. */
  readonly backups: { readonly newestAt: number | null } | undefined;
  readonly servers: { readonly count: number; readonly releases: readonly string[] };
  readonly pendingMigrations: number;
  readonly approvals: readonly string[];
  readonly signsReleases: boolean;
  readonly fips: boolean;
  /** The server cannot read it. */
  readonly diskEncryption: undefined;
}

export type FactName = keyof ComplianceFacts;

/** A fact with its time, or the reason why it could not be read. */
export type CollectedFact<T> =
  | { readonly value: T; readonly at: number }
  | { readonly problem: string; readonly at: number };
export type CollectedFacts = { readonly [N in FactName]: CollectedFact<ComplianceFacts[N]> };
export type FactReaders = {
  readonly [N in FactName]: () => ComplianceFacts[N] | Promise<ComplianceFacts[N]>;
};

/** Reads all facts at the same time. An unreadable fact does not affect other facts. */
export async function collectFacts(readers: FactReaders, now: () => number): Promise<CollectedFacts> {
  const entries = Object.entries(readers).map(async ([name, read]) => {
    try {
      return [name, { value: await read(), at: now() }] as const;
    } catch (error) {
      return [name, { problem: (error as Error).message, at: now() }] as const;
    }
  });
  return Object.fromEntries(await Promise.all(entries)) as unknown as CollectedFacts;
}
