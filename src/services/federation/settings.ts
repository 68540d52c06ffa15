import { ConfigError } from '../../core/config/config.js';
import type { ConfiguredFederatedSource } from '../../core/config/config-schema.js';
import type { FederatedSetting } from '../../core/federation/federated-source.js';

const TIMEOUT_SECONDS = 10;

/** The federated sources of the configuration, enabled or not. Throws `ConfigError` for a wrong one. */
export function listFederatedSettings(sources: readonly ConfiguredFederatedSource[]): FederatedSetting[] {
  const ids = new Set<string>();
  return sources.map(({ enabled = true, timeoutSeconds = TIMEOUT_SECONDS, ...source }, i) => {
    const at = `federation.sources.${i}`;
    if (ids.has(source.id))
      throw new ConfigError([`${at}.id: '${source.id}' is used twice. Use each id once.`]);
    ids.add(source.id);
    const url = URL.canParse(source.url) ? new URL(source.url) : undefined;
    if (!url || !/^https?:$/.test(url.protocol))
      throw new ConfigError([`${at}.url: must be an HTTP or HTTPS URL.`]);
    if (url.username !== '' || url.password !== '')
      throw new ConfigError([`${at}.url: must not contain a user or a password.`]);
    return { ...source, enabled, timeoutSeconds } as FederatedSetting;
  });
}

/** The enabled federated sources of the configuration. */
export const readFederatedSettings = (sources: readonly ConfiguredFederatedSource[]): FederatedSetting[] =>
  listFederatedSettings(sources).filter(({ enabled }) => enabled);
