import type { Operation, Principal, Reply } from '../../core/http/operation.js';
import type { HttpExchange } from './exchange.js';
import type { CredentialScheme } from './requests/request-credentials.js';

/** Request as recorded in the audit trail. */
export interface AuditedRequest {
  operation: Operation;
  principal: Principal;
  /** Without query. */
  path: string;
  correlationId: string;
  remoteIp: string;
  userAgent: string | undefined;
}

/** Recorder of requests. */
export interface RequestAuditor {
  /** Runs an audited request and writes its entry before the response. */
  run(request: AuditedRequest, work: () => Promise<Reply>): Promise<Reply>;
  /** Records a request that was rejected with 401 or 403 before it ran. */
  refused(request: AuditedRequest, status: number): void;
  /** Records valid credentials. */
  signedIn(principal: Principal, scheme: CredentialScheme, request: () => AuditedRequest): void;
}

export function describeRequest(x: HttpExchange): AuditedRequest {
  const { operation, principal, path, correlationId } = x;
  return {
    operation,
    principal,
    path,
    correlationId,
    remoteIp: x.clientAddress,
    userAgent: x.header('user-agent'),
  };
}
