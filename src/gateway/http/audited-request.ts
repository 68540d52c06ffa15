import type { Operation, Principal, Reply } from '../../core/http/operation.js';
import type { HttpExchange } from './exchange.js';
import type { CredentialScheme } from './requests/request-credentials.js';

/** A request as the audit trail tells it. */
export interface AuditedRequest {
  operation: Operation;
  principal: Principal;
  /** Without query. */
  path: string;
  correlationId: string;
  remoteIp: string;
  userAgent: string | undefined;
}

/** Who is told what requests do. */
export interface RequestAuditor {
  /** Runs an audited request and writes its row before the answer. */
  run(request: AuditedRequest, work: () => Promise<Reply>): Promise<Reply>;
  /** A request that was answered 401 or 403 before it ran. */
  refused(request: AuditedRequest, status: number): void;
  /** Credentials that were looked up and found valid. */
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
