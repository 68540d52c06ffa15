import { randomBytes } from 'node:crypto';
import { ApiError } from '../../../core/errors/errors.js';
import type { DocumentStore } from '../../../stores/state/documents.js';
import { decrypt, encrypt, type StateCipher } from './state-cipher.js';

const KIND = 'key-encryption key';
const ENVELOPE = 'envelope:';
const KEY_BYTES = 32;

interface StoredKey {
  /** Sealed with `security.stateKey`. */
  readonly key: string;
}

/** A key version and the time of its creation. */
export interface KeyVersion {
  readonly version: number;
  readonly createdAt: number;
}

/**
 * Envelope encryption of secrets. Each secret is encrypted with a separate data key. A key-encryption key of the
 * state, which is sealed, encrypts the data key.
 * A rotation creates a new version of the key-encryption key and wraps data keys again. A sealed text names its
 * version, and all versions are kept, so every process can read it at any time.
 * Without `security.stateKey`, secrets are stored in plain text, like all secrets of the state.
 */
export class SecretKeys {
  /** Keys by version. The key of a version never changes. */
  readonly #keys = new Map<number, Buffer>();

  constructor(
    private readonly documents: DocumentStore,
    private readonly sealing: StateCipher,
  ) {}

  get encrypts(): boolean {
    return this.sealing.encrypts;
  }

  /** Encrypts a secret. `use` names its purpose: it can only be decrypted for the same purpose. */
  async seal(text: string, use: string): Promise<string> {
    if (!this.encrypts) return this.sealing.seal(text);
    const { version } = await this.current();
    const dataKey = randomBytes(KEY_BYTES);
    return envelope(
      version,
      encrypt(await this.#key(version), dataKey, use),
      encrypt(dataKey, Buffer.from(text, 'utf8'), use),
    );
  }

  /** Throws `unavailable` when it was sealed with keys that are not there. */
  async open(sealed: string, use: string): Promise<string> {
    const parts = findParts(sealed);
    if (!parts) return this.sealing.open(sealed);
    return opened(await this.#dataKey(parts, use), parts.body, use).toString('utf8');
  }

  /** The same secret, encrypted with the newest key. */
  async rewrap(sealed: string, use: string): Promise<string> {
    const parts = findParts(sealed);
    if (!parts) return this.seal(this.sealing.open(sealed), use);
    const { version } = await this.current();
    if (parts.version === version) return sealed;
    const dataKey = await this.#dataKey(parts, use);
    return envelope(version, encrypt(await this.#key(version), dataKey, use), parts.body);
  }

  async #dataKey({ version, dataKey }: Parts, use: string): Promise<Buffer> {
    return opened(await this.#key(version), dataKey, use);
  }

  /** The newest version, which is made when there is none. */
  async current(): Promise<KeyVersion> {
    return (await this.versions()).at(-1) ?? this.#make(1);
  }

  /** Oldest first. */
  async versions(): Promise<KeyVersion[]> {
    const stored = await this.documents.list<StoredKey>(KIND);
    const versions = stored.map(({ id, createdAt }) => ({ version: Number(id), createdAt }));
    return versions.sort((a, b) => a.version - b.version);
  }

  /** Makes the next version; of two servers that do so at the same time, both get the same one. */
  async advance(): Promise<{ before: number; after: KeyVersion }> {
    const before = (await this.versions()).at(-1)?.version ?? 0;
    return { before, after: await this.#make(before + 1) };
  }

  async #make(version: number): Promise<KeyVersion> {
    const key = this.sealing.seal(randomBytes(KEY_BYTES).toString('base64'));
    return this.documents.together([KIND], async (store) => {
      const there = await store.get<StoredKey>(KIND, `${version}`);
      const { createdAt } = there ?? (await store.create<StoredKey>(KIND, `${version}`, { key }, 'system'));
      return { version, createdAt };
    });
  }

  async #key(version: number): Promise<Buffer> {
    const cached = this.#keys.get(version);
    if (cached) return cached;
    const stored = await this.documents.get<StoredKey>(KIND, `${version}`);
    if (!stored)
      throw new ApiError('unavailable', `A secret of the state cannot be read: there is no key ${version}.`);
    const key = Buffer.from(this.sealing.open(stored.body.key), 'base64');
    this.#keys.set(version, key);
    return key;
  }
}

function opened(key: Buffer, bytes: Buffer, use: string): Buffer {
  try {
    return decrypt(key, bytes, use);
  } catch (cause) {
    throw new ApiError(
      'unavailable',
      'A secret in the state database is damaged, so the server cannot read it.',
      { cause },
    );
  }
}

interface Parts {
  readonly version: number;
  readonly dataKey: Buffer;
  readonly body: Buffer;
}

function envelope(version: number, dataKey: Buffer, body: Buffer): string {
  return `${ENVELOPE}${version}:${dataKey.toString('base64url')}:${body.toString('base64url')}`;
}

function findParts(sealed: string): Parts | undefined {
  if (!sealed.startsWith(ENVELOPE)) return undefined;
  const [version, dataKey = '', body = ''] = sealed.slice(ENVELOPE.length).split(':');
  return {
    version: Number(version),
    dataKey: Buffer.from(dataKey, 'base64url'),
    body: Buffer.from(body, 'base64url'),
  };
}

/** Key version of a sealed text. Null if the text needs no key. */
export function parseKeyVersion(sealed: string): number | null {
  return findParts(sealed)?.version ?? null;
}
