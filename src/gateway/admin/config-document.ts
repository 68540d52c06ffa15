import { resolve } from 'node:path';
import type { Setting } from '../../core/config/config.js';
import { withoutPassword } from '../../core/sources/database-url.js';

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

/** Replaces the value of a secret. */
export const MASK = '***';

/** A value as it may be shown: secrets are masked, unset ones are null. */
export function maskSetting({ secret, value }: Setting): unknown {
  if (!isSet(value)) return value ?? null;
  if (secret) return MASK;
  return Array.isArray(value) ? value.map((one) => withoutPassword(String(one))) : value;
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
