import type { TaskFailure } from '../../../core/errors/failure.js';
import type { RemoteProblem, RemoteReason } from '../../../core/errors/remote-problems.js';

const CAUSES: readonly [RegExp, RemoteReason, string][] = [
  [/ENOTFOUND|EAI_AGAIN|EAI_FAIL/, 'name-not-found', 'cannot be resolved (DNS)'],
  [/ECONNREFUSED/, 'refused', 'refuses connections: no server listens there'],
  [/EHOSTUNREACH|ENETUNREACH/, 'unreachable', 'cannot be reached from this server'],
  [/ETIMEDOUT/, 'timeout', 'did not answer in time'],
  [/EPROTO|wrong version number|packet length|SSL routines/, 'tls-unavailable', 'speaks no TLS'],
  [
    /CERT|certificate|SELF_SIGNED|self.signed|altname/i,
    'certificate',
    'has a certificate that is not accepted',
  ],
];

/** Returns the reason why a request could not be sent or received no response. */
export function unanswered(failure: TaskFailure, { host }: URL): RemoteProblem {
  const { code, message, cause_ = '' } = failure;
  if (code === 'invalid-input') return { reason: 'host-not-allowed', message };
  if (code === 'deadline-exceeded') return { reason: 'timeout', message };
  const [, reason = 'other' as const, words = 'does not respond'] =
    CAUSES.find(([pattern]) => pattern.test(`${cause_}`)) ?? [];
  return { reason, message: `${host} ${words}.` };
}
