import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import { ApiError } from '../../../core/errors/errors.js';

const CIPHER = 'aes-256-gcm';
const SEALED = 'sealed:';
const PLAIN = 'plain:';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts secrets of the state that must be read again: private keys, and secrets from providers. Without a key they
 * are stored in plain text, and only the protection of the state file or database keeps them private.
 */
export class StateCipher {
  readonly #key: Uint8Array | undefined;

  /** `passphrase` is `security.stateKey`. Empty: no encryption. */
  constructor(passphrase: string) {
    this.#key =
      passphrase === ''
        ? undefined
        : new Uint8Array(hkdfSync('sha256', passphrase, '', 'graticule state secrets', 32));
  }

  /** Whether there is a key. */
  get encrypts(): boolean {
    return this.#key !== undefined;
  }

  seal(text: string): string {
    if (!this.#key) return PLAIN + text;
    return SEALED + encrypt(this.#key, Buffer.from(text, 'utf8')).toString('base64url');
  }

  /** Throws `unavailable` when the secret was sealed with another key. */
  open(sealed: string): string {
    if (sealed.startsWith(PLAIN)) return sealed.slice(PLAIN.length);
    try {
      return decrypt(this.#key!, Buffer.from(sealed.slice(SEALED.length), 'base64url')).toString('utf8');
    } catch (cause) {
      throw new ApiError(
        'unavailable',
        'A secret of the state cannot be read, because security.stateKey differs. Set the key that encrypted it.',
        {
          cause,
        },
      );
    }
  }

  /** Returns the code that proves that a text for one `use` is unchanged: an HMAC, or a plain hash without a key. */
  authenticate(text: string, use: string): string {
    if (!this.#key) return PLAIN + createHash('sha256').update(text).digest('base64url');
    const key = new Uint8Array(hkdfSync('sha256', this.#key, '', use, 32));
    return SEALED + createHmac('sha256', key).update(text).digest('base64url');
  }

  /** A plain hash fits with a key as well, so that the key can be set later. */
  isAuthentic(text: string, use: string, seal: string): boolean {
    const plain = seal.startsWith(PLAIN) ? new StateCipher('') : this;
    const [wanted, given] = [plain.authenticate(text, use), seal].map((one) => Buffer.from(one, 'utf8'));
    return wanted!.length === given!.length && timingSafeEqual(wanted!, given!);
  }
}

/**
 * AES-256-GCM: initialisation vector, tag, ciphertext. Data encrypted for one `use` cannot be decrypted for another.
 */
export function encrypt(key: Uint8Array, bytes: Uint8Array, use = ''): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(use, 'utf8'));
  const body = Buffer.concat([cipher.update(bytes), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), body]);
}

/** Throws for another key or another use. */
export function decrypt(key: Uint8Array, bytes: Buffer, use = ''): Buffer {
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES));
  decipher.setAAD(Buffer.from(use, 'utf8'));
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
}
