import { AsyncLocalStorage } from 'node:async_hooks';
import type { AuditEvent } from './audit.js';

/**
 * An audited request while it runs. Its first transaction with an audited change also writes the audit row, so both
 * become durable together. For requests without a change in the state database, the row is written before the
 * response.
 */
export class AuditScope {
  /** Id of the created resource, or of the changed one if the path does not name it. */
  resourceId: string | undefined;
  readonly details: Record<string, unknown> = {};
  /** Whether the request had no audited effect, and has no row. */
  isNothing = false;
  /** Names of processes that have not yet applied the changes of the request. */
  readonly behind = new Set<string>();
  #row: 'none' | 'taken' | 'written' | 'ended' = 'none';

  /** `success` creates the row of a successful request. */
  constructor(private readonly success: (scope: AuditScope) => AuditEvent) {}

  /** Whether a transaction must write the row: no other one has, and the request has not ended. */
  get isOpen(): boolean {
    return this.#row === 'none';
  }

  get isWritten(): boolean {
    return this.#row === 'written';
  }

  /** The row, for the transaction that takes it along; undefined when it is not open. */
  take(): AuditEvent | undefined {
    if (!this.isOpen) return undefined;
    const event = this.success(this);
    this.#row = 'taken';
    return event;
  }

  /** The transaction failed. */
  giveBack(): void {
    if (this.#row === 'taken') this.#row = 'none';
  }

  committed(): void {
    if (this.#row === 'taken') this.#row = 'written';
  }

  /**
   * Ends the request. Work that continues after the response does not belong to it. Returns whether the row is
   * written.
   */
  end(): boolean {
    const wasWritten = this.isWritten;
    this.#row = 'ended';
    return wasWritten;
  }
}

const scopes = new AsyncLocalStorage<AuditScope>();

/** Runs a request in its scope, which everything sees that it calls and awaits. */
export function inAuditScope<T>(scope: AuditScope, run: () => Promise<T>): Promise<T> {
  return scopes.run(scope, run);
}

/** Runs work that does not belong to the running request, such as the creation of a shared key. */
export function outsideAuditScope<T>(run: () => Promise<T>): Promise<T> {
  return scopes.exit(run);
}

export function auditScope(): AuditScope | undefined {
  return scopes.getStore();
}

/** Records the resource that the running request creates or changes. Has no effect outside audited requests. */
export function auditResource(id: string | number, details: Record<string, unknown> = {}): void {
  const scope = scopes.getStore();
  if (!scope) return;
  scope.resourceId ??= String(id);
  Object.assign(scope.details, details);
}

/** Records that the running request has no audited effect. */
export function auditNothing(): void {
  const scope = scopes.getStore();
  if (scope) scope.isNothing = true;
}

/**
 * Records the processes that have not yet applied the changes of the running request. Has no effect outside audited
 * requests.
 */
export function noteBehind(names: readonly string[]): void {
  const scope = scopes.getStore();
  for (const name of names) scope?.behind.add(name);
}

/** Records what the running request exports: the format, the filter and the number of items. */
export function auditExport(details: Readonly<Record<string, unknown>>): void {
  const scope = scopes.getStore();
  if (scope) Object.assign(scope.details, details);
}
