import { ApiError } from '../../core/errors/errors.js';
import { IMPORT_HEADER } from '../../core/exchange/ingest.js';
import type { Operation, Principal } from '../../core/http/operation.js';
import { inSpan } from '../../services/telemetry/spans.js';
import type { CertificateCaller, CertifiedRequest } from '../auth/client-certificates.js';
import { type Credentials, findEmbedKey, isBasic } from '../auth/credentials.js';
import { type AuditedRequest, describeRequest, type RequestAuditor } from './audited-request.js';
import { COOKIE, type HttpExchange, X_API_KEY } from './exchange.js';
import {
  type CredentialScheme,
  findScheme,
  isScript,
  readAuthorization,
  requireSameOrigin,
} from './requests/request-credentials.js';

export interface IdentificationOptions {
  authenticate(credentials: Credentials): Principal | Promise<Principal>;
  /** Verifies client certificates. Default: certificates are ignored. */
  certificates?: { of(request: CertifiedRequest): CertificateCaller | undefined } | undefined;
  /** Whether a principal has a permission label. */
  permits(principal: Principal, permission: string): boolean;
  audit: Pick<RequestAuditor, 'refused' | 'signedIn'>;
  /** Requests with this mark come from imports of this very server: what they show of a caller is not read. */
  serverMark?: string;
}

/**
 * Identifies the caller of a request by headers, cookie, address, client certificate or a token in its form, and
 * checks the permission. It remains synchronous while no query is required.
 */
export class Identification {
  constructor(private readonly options: IdentificationOptions) {}

  mayRun({ permission }: Operation, principal: Principal): boolean {
    if (permission === 'public') return true;
    if (permission === 'authenticated' && principal.kind !== 'anonymous') return true;
    return this.options.permits(principal, permission);
  }

  /**
   * Sets the principal. Returns a promise only if a query is required. Throws or rejects for callers without
   * permission.
   */
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
      // A trusted key is reported only if it was presented in another way.
      this.#conclude(x, certified, credentials?.authorization !== undefined);
      return undefined;
    } catch (error) {
      throw this.#tellRefusal(x, error);
    }
  }

  /** For credentials that require a query. */
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

  /** Credentials of the request take precedence over the client certificate of the connection. */
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
   * Identifies the caller by the token in a form, after the form has been read. The token takes precedence over the
   * cookie and the address. Returns undefined if the form has no token, or if a header already identifies the caller.
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

  /**
   * Whether the request is an import by this server itself. It reads only what everyone may read, because the layer
   * it creates does not inherit the rules of its sources.
   */
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

  /** Records refusals for wrong credentials or missing rights. Returns the error. */
  #tellRefusal(x: HttpExchange, error: unknown, request = describeRequest(x)): unknown {
    const { status, code } = error instanceof ApiError ? error : { status: 500, code: '' };
    if (status === 401 || status === 403 || code.startsWith('client_certificate_'))
      this.options.audit.refused({ ...request, principal: x.principal }, status);
    return error;
  }
}

/**
 * Reads the credentials of a request. Headers take precedence over the query string, and both over the cookie.
 * Returns undefined if there are none.
 */
function readCredentials(x: HttpExchange): Credentials | undefined {
  const apiKey = x.headerOf(X_API_KEY);
  const authorization = readAuthorization(x);
  if (apiKey || authorization)
    return { apiKey, authorization, address: isBasic(authorization) ? x.clientAddress : undefined };
  const embedKey = findEmbedKey(x.query);
  const cookie = isScript(x) ? undefined : x.headerOf(COOKIE);
  return embedKey || cookie ? { embedKey, cookie } : undefined;
}
