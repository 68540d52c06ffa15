import { hash } from 'node:crypto';
import type { DocumentStore } from '../../../stores/state/documents.js';

const KIND = 'ended token';

/** Bearer tokens that were signed out before they expired. Only the hash of a token is kept. */
export class EndedTokens {
  readonly #announcing: Pick<DocumentStore, 'put'>;

  constructor(
    private readonly documents: DocumentStore,
    private readonly settle: () => Promise<void>,
  ) {
    this.#announcing = documents.announcing('access');
  }

  /** All processes refuse the token once this resolves. `expiresAt`: milliseconds since 1970. */
  async end(token: string, expiresAt: number): Promise<void> {
    await this.#prune();
    await this.#announcing.put(KIND, tokenName(token), { expiresAt }, 'system');
    await this.settle();
  }

  async has(token: string): Promise<boolean> {
    return (await this.documents.get(KIND, tokenName(token))) !== undefined;
  }

  /** Expired tokens are refused in any case. */
  async #prune(): Promise<void> {
    const ended = await this.documents.list<{ expiresAt: number }>(KIND);
    for (const { id, body } of ended) if (body.expiresAt < Date.now()) await this.documents.remove(KIND, id);
  }
}

/** Names a token, without giving it away. */
export const tokenName = (token: string): string => hash('sha256', `ended ${token}`, 'hex');
