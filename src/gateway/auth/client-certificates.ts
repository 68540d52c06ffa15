import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { CertificateHeader, CertificateMode } from '../../core/access/client-certificates.js';
import { ApiError } from '../../core/errors/errors.js';
import type { Operation, Principal } from '../../core/http/operation.js';
import { readProof, UnreadableCertificate } from '../../services/access/certificates/encodings.js';
import type { Judgement, Proof, Success } from '../../services/access/certificates/judgement.js';
import { parseForwardedCertificate } from './forwarded-certificates.js';

/** A request, as far as certificates are concerned. Only while it is attached. */
export interface CertifiedRequest {
  readonly operation: Pick<Operation, 'surface' | 'tag' | 'permission'>;
  /** Whether a trusted proxy sent the request. */
  readonly isForwarded: boolean;
  /** Client certificate of the TLS connection, as PEM. */
  readonly peerCertificate: string;
  header(name: string): string | undefined;
  eachHeader(visit: (name: string, value: string) => void): void;
}

/** Caller with a certificate. */
export interface CertificateCaller {
  /** Throws what is wrong with the certificate. */
  principal(): Principal;
}

export interface ClientCertificatesOptions {
  readonly mode: Exclude<CertificateMode, 'Disabled'>;
  readonly header: CertificateHeader;
  /** Whether the TLS server of this process requests certificates. */
  readonly fromTls: boolean;
  judge(proof: Proof, now: number): Judgement;
  /** The caller; throws `forbidden` for one whose tenant is not active. */
  principalOf(judgement: Success, proof: Proof): Principal;
  /** Called when a client sends a certificate that expires soon. */
  expiring(judgement: Success, proof: Proof, now: number): void;
}

/** Milliseconds for which a certificate is trusted without another check. */
const TRUST_MS = 1000;
const MAX_CALLERS = 10_000;
/** Characters of the certificates of these callers. */
const MAX_TEXT = 33_554_432;

interface Caller {
  readonly principal: Principal;
  readonly judgedAt: number;
}

/** Certificate of a request. */
type PresentedCertificate = { readonly header: string; readonly chain: string } | { readonly pem: string };

/** Callers by client certificate, from the TLS connection or a trusted proxy, never from other peers. */
export class ClientCertificates {
  readonly #callers = new LRUCache<string, Caller>({
    max: MAX_CALLERS,
    maxSize: MAX_TEXT,
    sizeCalculation: ({ principal }) => 1 + (principal.certificates ?? []).join('').length,
  });

  constructor(private readonly options: ClientCertificatesOptions) {}

  /** Judges all certificates again from now on. */
  forget(): void {
    this.#callers.clear();
  }

  /**
   * Returns the caller with a certificate; undefined without one. Throws if a certificate is required and missing or
   * invalid.
   */
  of(x: CertifiedRequest): CertificateCaller | undefined {
    const isRequired = requires(this.options.mode, x.operation);
    const presented = this.#presented(x, isRequired);
    if (!presented) {
      if (isRequired) throw new ApiError('client_certificate_missing', 'A client certificate is required.');
      return undefined;
    }
    if (isRequired) this.#callerOf(presented);
    return { principal: () => this.#callerOf(presented) };
  }

  #presented(x: CertifiedRequest, isRequired: boolean): PresentedCertificate | undefined {
    const { header, fromTls } = this.options;
    const value = header === '' ? undefined : x.header(header.toLowerCase());
    const isForwarded = header !== '' && x.isForwarded;
    if (value !== undefined && isForwarded) {
      requireOnce(x, header);
      return { header: value, chain: this.#chain(x) };
    }
    if (value !== undefined && isRequired)
      throw new ApiError(
        'client_certificate_forwarding_untrusted',
        `${header}: is accepted only from the proxies of server.trustProxy.`,
      );
    // The TLS certificate of a proxy belongs to the proxy, not to its client.
    const pem = fromTls && !isForwarded ? x.peerCertificate : '';
    return pem === '' ? undefined : { pem };
  }

  #chain(x: CertifiedRequest): string {
    if (this.options.header !== 'Client-Cert') return '';
    const values: string[] = [];
    x.eachHeader((name, value) => {
      if (name === 'client-cert-chain') values.push(value);
    });
    return values.join(',');
  }

  #callerOf(presented: PresentedCertificate): Principal {
    const now = Date.now();
    const name = hash('sha256', 'pem' in presented ? presented.pem : JSON.stringify(presented), 'hex');
    const caller = this.#callers.get(name);
    if (caller && now - caller.judgedAt <= TRUST_MS) return caller.principal;
    const principal = this.#judge(this.#read(presented), now);
    this.#callers.set(name, { principal, judgedAt: now });
    return principal;
  }

  #read(presented: PresentedCertificate): Proof {
    try {
      if ('pem' in presented) return readProof(presented.pem, 'pem');
      return parseForwardedCertificate(this.options.header as never, presented.header, presented.chain);
    } catch (error) {
      if (!(error instanceof UnreadableCertificate)) throw error;
      throw new ApiError(
        'client_certificate_forwarding_invalid',
        `The forwarded certificate cannot be read: ${error.message}.`,
      );
    }
  }

  #judge(proof: Proof, now: number): Principal {
    const judgement = this.options.judge(proof, now);
    if (judgement.code !== 'success') throw new ApiError(judgement.code, judgement.detail);
    this.options.expiring(judgement, proof, now);
    return this.options.principalOf(judgement, proof);
  }
}

/** Refuses a repeated header: the client could have sent one of the values itself, next to that of the proxy. */
function requireOnce(x: CertifiedRequest, header: string): void {
  let count = 0;
  x.eachHeader((name) => {
    if (name === header.toLowerCase()) count++;
  });
  if (count > 1)
    throw new ApiError(
      'client_certificate_forwarding_invalid',
      `${header}: is given more than once. Send it once.`,
    );
}

/** Operations that describe how to sign in are available without a certificate. */
const SIGN_IN = 'Security and admin auth';

type RequestOperation = CertifiedRequest['operation'];

/** Whether an operation requires a certificate. */
function requires(mode: CertificateMode, operation: RequestOperation): boolean {
  const { surface, tag, permission } = operation;
  const isSignIn = surface === 'admin' && tag === SIGN_IN && permission === 'public';
  if (isSignIn || surface === 'operations') return false;
  if (mode === 'RequiredForEnvironment') return true;
  const isAdmin = surface === 'admin' || permission.startsWith('admin:');
  return mode === 'RequiredForAdmin'
    ? isAdmin
    : mode === 'RequiredForNative' && !isAdmin && surface !== 'site';
}
