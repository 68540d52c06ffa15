import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { stringify } from 'yaml';
import { type Config, loadConfig, type Setting } from '../core/config/config.js';
import { withoutPassword } from '../core/sources/database-url.js';
import { isPath } from '../core/sources/sources.js';

/** Options of `serve` as commander gives them. */
export interface ServeOptions {
  port?: number;
  host?: string;
  dataDir?: string;
  config?: string;
  processes?: number;
  publicUrl?: string;
  saveConfig?: string;
  role?: Config['server']['role'];
  crs?: Record<string, string>;
}

/** Options by the settings that they give. */
export const OPTION_OF_SETTING: Readonly<Record<string, string>> = {
  'server.port': '--port',
  'server.host': '--host',
  'server.processes': '--processes',
  'server.publicUrl': '--public-url',
  'data.directory': '--data-dir',
  'data.crs': '--crs',
};

/** Command-line flags by setting path; absent ones leave the setting to the environment, file or default. */
export function mapFlagsToSettings(
  sources: readonly string[],
  options: ServeOptions,
): Record<string, unknown> {
  return {
    'server.port': options.port,
    'server.host': options.host,
    'server.processes': options.processes,
    'server.publicUrl': options.publicUrl,
    'server.role': options.role,
    'data.directory': options.dataDir,
    'data.crs': options.crs,
    'data.sources':
      sources.length > 0 ? sources.map((source) => (isPath(source) ? resolve(source) : source)) : undefined,
  };
}

export function resolveConfig(
  flags: Record<string, unknown>,
  file: string | undefined,
): { config: Config; settings: Setting[] } {
  return loadConfig({ flags, env: process.env, file });
}

/** One engine per two cores, at least one. */
export function engineCount(config: Config): number {
  return config.workers.engines || Math.max(1, Math.floor(availableParallelism() / 2));
}

/**
 * Writes the settings that differ from their defaults; secrets stay out. Databases are written without their passwords:
 * those come from PGPASSWORD or the password file.
 */
export function saveConfig(file: string, settings: readonly Setting[]): void {
  const document: Record<string, Record<string, unknown>> = {};
  for (const { names, value, source, secret } of settings) {
    if (source === 'default' || secret) continue;
    let at = document as Record<string, unknown>;
    for (const name of names.slice(0, -1)) at = (at[name] ??= {}) as Record<string, unknown>;
    at[names.at(-1)!] = Array.isArray(value) ? value.map(withoutSecrets) : value;
  }
  writeFileSync(file, `# Written by graticule serve --save-config\n${stringify(document)}`, { flag: 'w' });
}

function withoutSecrets(one: unknown): unknown {
  return typeof one === 'string' ? withoutPassword(one) : one;
}
