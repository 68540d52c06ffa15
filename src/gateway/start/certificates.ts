import type { Config } from '../../core/config/config.js';
import { ConfigError } from '../../core/config/config.js';
import type { Principal } from '../../core/http/operation.js';
import { ExpiryWatch } from '../../services/access/certificates/expiry.js';
import { CertificateTrust } from '../../services/access/certificates/trust.js';
import { certifiedPrincipal } from '../../services/access/identity/identity.js';
import type { RuleSet } from '../../services/access/rules/rules.js';
import { ClientCertificates } from '../auth/client-certificates.js';
import { KNOWS_CLIENT_CERTIFICATES } from '../http/uws.js';
import type { Foundation } from './foundation.js';

export interface Certificates {
  readonly trust: CertificateTrust;
  /** Undefined where no certificates are taken. */
  readonly callers: ClientCertificates | undefined;
}

/**
 * Creates the reader of client certificates that the configuration requires. Throws `ConfigError` for an impossible
 * combination.
 */
export function startCertificates(
  { config, state, cluster, log, alerts }: Foundation,
  rules: () => RuleSet,
  admitted: (principal: Principal) => Principal,
): Certificates {
  const { mode, header } = config.security.clientCertificates;
  requireSource(config);
  const settle = async () => void (await cluster.settle());
  const trust = new CertificateTrust(state.documents, config.security.clientCertificates, settle);
  if (mode === 'Disabled') return { trust, callers: undefined };
  const watch = new ExpiryWatch(({ name, fingerprint, days, message }) => {
    log.write(
      'access.certificate.expiring',
      { Principal: name, Fingerprint: fingerprint, Days: days },
      message,
    );
    alerts.notify({ kind: 'certificate-expiring', severity: 'warning', subject: name, message });
  });
  const callers = new ClientCertificates({
    mode,
    header,
    fromTls: config.server.tls.clientCa !== '',
    judge: (proof, now) => trust.judge(proof, now),
    principalOf: (judgement, proof) => admitted(certifiedPrincipal(judgement, proof, rules())),
    expiring: (judgement, proof, now) => watch.look(judgement, proof, now),
  });
  return { trust, callers };
}

/** Certificates need a source that clients cannot forge. */
function requireSource({ server, security }: Config): void {
  const { mode, header } = security.clientCertificates;
  const { clientCa } = server.tls;
  if (clientCa !== '' && !KNOWS_CLIENT_CERTIFICATES)
    throw new ConfigError([
      'server.tls.clientCa: requires Node.js 24. With Node.js 20, let a proxy send the certificate and set security.clientCertificates.header.',
    ]);
  if (header !== '' && server.trustProxy.length === 0)
    throw new ConfigError(['security.clientCertificates.header: requires server.trustProxy.']);
  if (mode !== 'Disabled' && header === '' && clientCa === '')
    throw new ConfigError([
      `security.clientCertificates.mode: ${mode} requires security.clientCertificates.header or server.tls.clientCa.`,
    ]);
}
