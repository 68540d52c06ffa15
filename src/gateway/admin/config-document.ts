import { resolve } from 'node:path';
import type { Setting } from '../../core/config/config.js';
import { hideSecretsIn, MASK } from '../../core/sources/hidden-secrets.js';

/** The configuration in force, as the management API shows it. */
export interface ConfigDocument {
  /** Name of the deployment environment: `production`, `development`. */
  readonly environment: string;
  /** Directory that relative paths start from. */
  readonly contentRoot: string;
  readonly settings: readonly Setting[];
}

export function createConfigDocument(settings: readonly Setting[]): ConfigDocument {
  return {
    environment: process.env['NODE_ENV'] ?? 'production',
    contentRoot: resolve('.'),
    settings,
  };
}

/** A value as it may be shown: secrets are masked, unset ones are null. */
export function maskSetting({ secret, value }: Setting): unknown {
  if (!isSet(value)) return value ?? null;
  return secret ? MASK : hideSecretsIn(value);
}

/** The default of a setting, masked like its value. */
export function maskDefault(setting: Setting): unknown {
  return maskSetting({ ...setting, value: setting.default });
}

/** `server` -> `ServerOptions`: clients show it as the name of a type. */
export function formatOptionsType(section: string): string {
  return `${section[0]!.toUpperCase()}${section.slice(1)}Options`;
}

export function isSet(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return value !== undefined && value !== null && value !== '';
}

/** First word of a setting's path: the section that it is in. */
function getSettingSection({ path }: Setting): string {
  const dot = path.indexOf('.');
  return dot < 0 ? path : path.slice(0, dot);
}

/** Settings by section, in the order of the configuration's schema. */
export function sections(settings: readonly Setting[]): Map<string, Setting[]> {
  const byPath = new Map<string, Setting[]>();
  for (const setting of settings) {
    const section = getSettingSection(setting);
    const list = byPath.get(section);
    if (list) list.push(setting);
    else byPath.set(section, [setting]);
  }
  return byPath;
}
