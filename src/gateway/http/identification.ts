import { ApiError } from '../../core/errors/errors.js';
import { IMPORT_HEADER } from '../../core/exchange/ingest.js';
import type { Operation, Principal } from '../../core/http/operation.js';
import { inSpan } from '../../services/telemetry/spans.js';
import type { CertificateCaller, CertifiedRequest } from '../auth/client-certificates.js';
import { type Credentials, findEmbedKey, isBasic } from '../auth/credentials.js';
import { type AuditedRequest, describeRequest, type RequestAuditor } from './audited-request.js';
import { AUTHORIZATION, COOKIE, type HttpExchange, X_API_KEY } from './exchange.js';
import {
  type CredentialScheme,
  findScheme,
  isScript,
  readAuthorization,
  readBearer,
  requireSameOrigin,
} from './requests/request-credentials.js';

export interface IdentificationOptions {
  authenticate(credentials: Credentials): Principal | Promise<Principal>;
  /** Reads client certificates; none are taken when absent. */
  certificates?: { of(request: CertifiedRequest): CertificateCaller | undefined } | undefined;
  /** Whether a principal holds a permission label. */
  permits(principal: Principal, permission: string): boolean;
  audit: Pick<RequestAuditor, 'refused' | 'signedIn'>;
  /** Requests with this mark come from imports of this very server: what they show of a caller is not read. */
  serverMark?: string;
}

/**
 * Finds out who sends a request, and whether they may: by its headers, its cookie, its address, the certificate of its
 * connection, or a token in its form. Stays synchronous while nothing has to be looked up.
 */
export class Identification {
  constructor(private readonly options: IdentificationOptions) {}

  mayRun({ permission }: Operation, principal: Principal): boolean {
    if (permission === 'public') return true;
    if (permission === 'authenticated' && principal.kind !== 'anonymous') return true;
    return this.options.permits(principal, permission);
  }

  /** Sets the principal. A promise only when that has to be looked up. Throws, or rejects, for callers who may not. */
  identify(x: HttpExchange): Promise<void> | undefined {
    try {
      const certified = this.options.certificates?.of(x);
      if (x.operation.ownCredentials) return undefined;
      const credentials = readCredentials(x);
      if ((credentials || certified) && this.#isOwnImport(x)) {
        this.#authorise(x);
        return undefined;
      }
      const principal = credentials ? this.#authenticate(x, credentials) : x.principal;
      if (principal instanceof Promise) return this.#identifyLater(x, principal, certified);
      x.principal = principal;
      // A key that is believed without a look is only told of when it comes in another way.
      this.#conclude(x, certified, credentials?.authorization !== undefined);
      return undefined;
    } catch (error) {
      throw this.#tellRefusal(x, error);
    }
  }

  /** For credentials that have to be looked up. */
  async #identifyLater(
    x: HttpExchange,
    principal: Promise<Principal>,
    certified: CertificateCaller | undefined,
  ): Promise<void> {
    x.detach();
    const request = describeRequest(x);
    try {
      x.principal = await principal;
      this.#conclude(x, certified, x.principal.sessionHash === undefined, request);
    } catch (error) {
      throw this.#tellRefusal(x, error, request);
    }
  }

  /** What a request carries of its own goes before the certificate of its connection. */
  #conclude(
    x: HttpExchange,
    certified: CertificateCaller | undefined,
    isTold: boolean,
    request?: AuditedRequest,
  ): void {
    const isCertified = certified !== undefined && x.principal.kind === 'anonymous' && !isScript(x);
    if (isCertified) {
      x.principal = certified.principal();
      this.#tellSignIn(x, 'certificate', request);
    }
    requireSameOrigin(x);
    if (isTold && !isCertified) this.#tellSignIn(x, findScheme(x), request);
    this.#authorise(x);
  }

  /**
   * For a token that a form holds, which is known once the form is read. It goes before what the browser or the connection
   * showed of itself. Undefined where the form has none, or a header says who asks.
   */
  identifyByToken(x: HttpExchange, token: unknown): Promise<void> | undefined {
    if (typeof token !== 'string' || token === '' || x.headerOf(X_API_KEY) || readAuthorization(x))
      return undefined;
    return this.#isOwnImport(x) ? undefined : this.#lookUpToken(x, token);
  }

  async #lookUpToken(x: HttpExchange, token: string): Promise<void> {
    const request = describeRequest(x);
    try {
      x.principal = await this.#authenticate(x, { authorization: `Bearer ${token}` });
      this.#tellSignIn(x, 'bearer', request);
      this.#authorise(x);
    } catch (error) {
      this.options.audit.refused({ ...request, principal: x.principal }, 401);
      throw error;
    }
  }

  /** An import from this server reads what everybody may read: the layer that it makes has no rules of its sources. */
  #isOwnImport(x: HttpExchange): boolean {
    const { serverMark } = this.options;
    return serverMark !== undefined && x.header(IMPORT_HEADER) === serverMark;
  }

  #authenticate(x: HttpExchange, credentials: Credentials): Principal | Promise<Principal> {
    if (!x.span) return this.options.authenticate(credentials);
    const facts = { name: 'svc.auth.validate', attributes: {} };
    return inSpan(x.span, facts, () => this.options.authenticate(credentials));
  }

  #authorise(x: HttpExchange): void {
    const { permission } = x.operation;
    if (permission === 'public') return;
    if (!x.span) return this.#requirePermission(x.operation, x.principal);
    const facts = { name: 'svc.security.check', attributes: { 'svc.operation': permission } };
    inSpan(x.span, facts, () => this.#requirePermission(x.operation, x.principal));
  }

  #requirePermission(operation: Operation, principal: Principal): void {
    if (this.mayRun(operation, principal)) return;
    if (principal.kind === 'anonymous') {
      throw new ApiError(
        'unauthenticated',
        'This operation requires an API key, a bearer token or basic credentials.',
      );
    }
    const code = principal.kind === 'certificate' ? 'client_certificate_insufficient_rbac' : 'forbidden';
    throw new ApiError(
      code,
      `This operation requires the permission ${operation.permission}, which the caller does not have.`,
    );
  }

  #tellSignIn(x: HttpExchange, scheme: CredentialScheme, request?: AuditedRequest): void {
    const { principal } = x;
    if (principal.kind === 'anonymous') return;
    this.options.audit.signedIn(principal, scheme, () => ({
      ...(request ?? describeRequest(x)),
      principal,
    }));
  }

  /** Tells of refusals of what is audited, and of credentials that are not valid. Returns the error. */
  #tellRefusal(x: HttpExchange, error: unknown, request = describeRequest(x)): unknown {
    const { status, code } = error instanceof ApiError ? error : { status: 500, code: '' };
    const credentials =
      status === 401 && (x.headerOf(X_API_KEY) || x.headerOf(AUTHORIZATION) || readBearer(x));
    if (
      credentials ||
      code.startsWith('client_certificate_') ||
      ((status === 401 || status === 403) && x.operation.audited)
    )
      this.options.audit.refused({ ...request, principal: x.principal }, status);
    return error;
  }
}

/** What a request shows of its caller: headers go before its address, and both before its cookie. Undefined: nothing. */
function readCredentials(x: HttpExchange): Credentials | undefined {
  const apiKey = x.headerOf(X_API_KEY);
  const authorization = readAuthorization(x);
  if (apiKey || authorization)
    return { apiKey, authorization, address: isBasic(authorization) ? x.clientAddress : undefined };
  const embedKey = findEmbedKey(x.query);
  const cookie = isScript(x) ? undefined : x.headerOf(COOKIE);
  return embedKey || cookie ? { embedKey, cookie } : undefined;
}
