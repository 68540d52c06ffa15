import {
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from 'jose';
import { ACCESS_LIMITS } from '../../../core/access/limits.js';
import { ApiError } from '../../../core/errors/errors.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { DocumentStore, StoredDocument } from '../../../stores/state/documents.js';
import type { StateCipher } from '../keys/state-cipher.js';

/** A key pair as the state keeps it. */
interface SigningKey {
  readonly publicKey: JWK & { readonly kid: string };
  /** A JWK as JSON, sealed. */
  readonly privateKey: string;
  /**
   * Time at which the key starts to sign. Until then it is only published, so that caches of the key set contain it
   * before the first token.
   */
  readonly signsFrom: number;
}

const KIND = 'signing key';
export const ALGORITHM = 'ES256';
const TOKEN_TYPE = 'at+jwt';
const AUDIENCE = 'graticule';
/** Longest life of a token. A key that signs no more is published for as long. */
export const TOKEN_MS = Math.max(LIMITS.clientTokenSeconds, ACCESS_LIMITS.sessionTokenSeconds) * 1000;
const SIGNS_MS = 30 * 24 * 3_600_000;
const AHEAD_MS = 600_000;

/** The keys that access tokens of this server are signed with. All processes of a state share them. */
export class SigningKeys {
  #keys: Promise<StoredDocument<SigningKey>[]> | undefined;
  readonly #documents: DocumentStore;

  constructor(
    documents: DocumentStore,
    private readonly sealing: StateCipher,
    private readonly settle: () => Promise<void>,
    private readonly now: () => number = Date.now,
  ) {
    this.#documents = documents.announcing('access');
  }

  /** Discards the cached keys, so the next use reads them again. */
  forget(): void {
    this.#keys = undefined;
  }

  /** The public halves, as a JWK set (RFC 7517). */
  async published(): Promise<{ keys: JWK[] }> {
    return { keys: (await this.#current()).map(({ body }) => body.publicKey) };
  }

  /** A token (RFC 9068) of these claims. */
  async sign(claims: JWTPayload): Promise<string> {
    const { body } = buildSigner(await this.#current(), this.now());
    const privateKey = await importJWK(JSON.parse(this.sealing.open(body.privateKey)) as JWK, ALGORITHM);
    return new SignJWT(claims)
      .setProtectedHeader({ alg: ALGORITHM, typ: TOKEN_TYPE, kid: body.publicKey.kid })
      .setAudience(AUDIENCE)
      .sign(privateKey);
  }

  /** Whether a token names a key of this server. */
  async owns(kid: string): Promise<boolean> {
    return (await this.#current()).some(({ body }) => body.publicKey.kid === kid);
  }

  /** The claims of a token that a key of this server signed and whose time has come. Rejects for any other. */
  async verify(token: string): Promise<JWTPayload> {
    const keys = await this.#current();
    const { payload } = await jwtVerify(
      token,
      async ({ kid }) => {
        const key = keys.find(({ body }) => body.publicKey.kid === kid);
        if (!key) throw new Error('the key is not one of this server');
        return importJWK(key.body.publicKey, ALGORITHM);
      },
      {
        algorithms: [ALGORITHM],
        audience: AUDIENCE,
        typ: TOKEN_TYPE,
        requiredClaims: ['sub', 'exp', 'iat'],
        currentDate: new Date(this.now()),
      },
    );
    return payload;
  }

  /**
   * Adds a key that signs from now on. The other keys remain published until their tokens expire. With `withdraw`,
   * they are removed immediately.
   */
  async rotate(withdraw: boolean): Promise<void> {
    const before = await this.#read();
    await this.#add(before, this.now());
    if (withdraw) for (const { id } of before) await this.#documents.remove(KIND, id);
    this.forget();
    await this.settle();
  }

  async #current(): Promise<StoredDocument<SigningKey>[]> {
    this.#keys ??= this.#read();
    const reading = this.#keys;
    try {
      const keys = await reading;
      return isDue(keys, this.now()) ? await this.#renew(keys) : keys;
    } catch (error) {
      if (this.#keys === reading) this.forget();
      throw error;
    }
  }

  async #renew(keys: StoredDocument<SigningKey>[]): Promise<StoredDocument<SigningKey>[]> {
    await this.#add(keys, keys.length === 0 ? this.now() : this.now() + AHEAD_MS);
    for (const { id } of endKeys(keys, this.now())) await this.#documents.remove(KIND, id);
    this.#keys = this.#read();
    return this.#keys;
  }

  async #read(): Promise<StoredDocument<SigningKey>[]> {
    const keys = await this.#documents.list<SigningKey>(KIND);
    return keys.sort((a, b) => Number(a.id) - Number(b.id));
  }

  /** Keys are numbered: of several processes that add one at the same time, one does. */
  async #add(keys: readonly StoredDocument<SigningKey>[], signsFrom: number): Promise<void> {
    const id = String(Number(keys.at(-1)?.id ?? 0) + 1);
    const pair = await generateKeyPair(ALGORITHM, { extractable: true });
    const jwk = await exportJWK(pair.publicKey);
    const publicKey = { ...jwk, kid: await calculateJwkThumbprint(jwk), use: 'sig', alg: ALGORITHM };
    const privateKey = this.sealing.seal(JSON.stringify(await exportJWK(pair.privateKey)));
    try {
      await this.#documents.create<SigningKey>(KIND, id, { publicKey, privateKey, signsFrom }, 'system');
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'conflict')) throw error;
    }
  }
}

type Keys = readonly StoredDocument<SigningKey>[];

function buildSigner(keys: Keys, now: number): StoredDocument<SigningKey> {
  return keys.findLast(({ body }) => body.signsFrom <= now) ?? keys[0]!;
}

function isDue(keys: Keys, now: number): boolean {
  const newest = keys.at(-1);
  return !newest || newest.body.signsFrom + SIGNS_MS <= now;
}

/** Keys whose last token has ended: their successor has signed for longer than a token lives. */
function endKeys(keys: Keys, now: number): Keys {
  return keys.filter((_key, n) => {
    const next = keys[n + 1];
    return next !== undefined && next.body.signsFrom + TOKEN_MS < now;
  });
}
