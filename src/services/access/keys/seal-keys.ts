import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import { ApiError } from '../../../core/errors/errors.js';
import { outsideAuditScope } from '../../../stores/audit/audit-scope.js';
import type { DocumentStore } from '../../../stores/state/documents.js';
import type { StateCipher } from './state-cipher.js';

/** A key pair of seals. It is never removed, because seals are verified long after they were made. */
interface SealKey {
  readonly publicKey: SealPublicKey;
  /** A JWK as JSON, sealed. */
  readonly privateKey: string;
}

/** Public key of seals as a JWK. */
export type SealPublicKey = JWK & { readonly kid: string };

/** A key that signs seals. */
export interface SealSigner {
  readonly publicKey: SealPublicKey;
  readonly privateKey: Awaited<ReturnType<typeof importJWK>>;
}

export const SEAL_ALGORITHM = 'EdDSA';
/** Audit checkpoints used these keys first. */
const KIND = 'audit seal key';
const FIRST_KEY = '1';

/** The keys that sign audit checkpoints, proposals, approvals and receipts. All servers of a state share them. */
export class SealKeys {
  #signer: Promise<SealSigner> | undefined;

  constructor(
    private readonly documents: DocumentStore,
    private readonly sealing: StateCipher,
  ) {}

  /** Whether the private keys can be read only with a key that is not in the database. */
  get areProtected(): boolean {
    return this.sealing.encrypts;
  }

  /** The key that signs now. */
  signer(): Promise<SealSigner> {
    this.#signer ??= outsideAuditScope(() => this.#open());
    this.#signer.catch(() => {
      this.#signer = undefined;
    });
    return this.#signer;
  }

  /** All public keys. */
  async published(): Promise<SealPublicKey[]> {
    const keys = await this.documents.list<SealKey>(KIND);
    return keys.map(({ body }) => body.publicKey);
  }

  async #open(): Promise<SealSigner> {
    const { publicKey, privateKey } = await this.#find();
    const jwk = JSON.parse(this.sealing.open(privateKey)) as JWK;
    return { publicKey, privateKey: await importJWK(jwk, SEAL_ALGORITHM) };
  }

  async #find(): Promise<SealKey> {
    const { documents, sealing } = this;
    const found = await documents.get<SealKey>(KIND, FIRST_KEY);
    if (found) return found.body;
    const pair = await generateKeyPair(SEAL_ALGORITHM, { crv: 'Ed25519', extractable: true });
    const jwk = await exportJWK(pair.publicKey);
    const key: SealKey = {
      publicKey: { ...jwk, kid: await calculateJwkThumbprint(jwk), use: 'sig', alg: SEAL_ALGORITHM },
      privateKey: sealing.seal(JSON.stringify(await exportJWK(pair.privateKey))),
    };
    try {
      return (await documents.create<SealKey>(KIND, FIRST_KEY, key, 'system')).body;
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'conflict')) throw error;
      // Another process added one at the same time.
      return (await documents.get<SealKey>(KIND, FIRST_KEY))!.body;
    }
  }
}
