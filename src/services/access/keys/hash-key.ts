import { randomBytes } from 'node:crypto';
import { ApiError } from '../../../core/errors/errors.js';
import type { DocumentStore } from '../../../stores/state/documents.js';
import type { StateCipher } from './state-cipher.js';

const KIND = 'mask key';
const ID = 'hash';
const KEY_BYTES = 32;

/** The key that masks hash values with: one for all processes of a state, made when the first mask needs it. */
export class HashKey {
  #key: string | undefined;

  constructor(
    private readonly documents: DocumentStore,
    private readonly sealing: StateCipher,
  ) {}

  /** In hexadecimal digits; undefined while it cannot be read: `security.stateKey` differs. */
  async read(): Promise<string | undefined> {
    this.#key ??= open(this.sealing, (await this.#stored()) ?? (await this.#made()));
    return this.#key;
  }

  async #stored(): Promise<string | undefined> {
    return (await this.documents.get<{ key: string }>(KIND, ID))?.body.key;
  }

  /** Creates the key. If several processes create one at the same time, only one succeeds. */
  async #made(): Promise<string> {
    const key = this.sealing.seal(randomBytes(KEY_BYTES).toString('hex'));
    try {
      await this.documents.create(KIND, ID, { key }, 'system');
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'conflict')) throw error;
    }
    return (await this.#stored()) ?? key;
  }
}

function open(sealing: StateCipher, sealed: string): string | undefined {
  try {
    return sealing.open(sealed);
  } catch (error) {
    if (error instanceof ApiError && error.code === 'unavailable') return undefined;
    throw error;
  }
}
