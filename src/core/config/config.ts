import { existsSync, readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import type { Static, TSchema } from 'typebox';
import { parse } from 'yaml';
import { describeName, type FieldError, formatFieldError, showValue } from '../errors/field-errors.js';
import { suggestName } from '../errors/near-names.js';
import { translateErrors } from '../http/schema-errors.js';
import type { LogLevel } from '../kit/log-events.js';
import { Networks } from '../kit/networks.js';
import { basemapSetting } from '../maps/basemap.js';
import { isDatabase } from '../sources/database-url.js';
import { hideSecrets } from '../sources/hidden-secrets.js';
import { parseBucketUrl } from '../sources/storage.js';
import { ConfigSchema } from './config-schema.js';

export type Config = Static<typeof ConfigSchema> & { logging: { level: LogLevel } };

type ConfigSource = 'flag' | 'environment' | 'file' | 'default';

/** Setting with its current value, for documentation and management API. */
export interface Setting {
  /** Names joined by dots. A name can contain dots. */
  path: string;
  names: readonly string[];
  type: string;
  description: string;
  default: unknown;
  value: unknown;
  source: ConfigSource;
  env: string;
  secret: boolean;
}

/** A configuration that cannot be used; `problems` name each wrong setting. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(readonly problems: readonly string[]) {
    super(problems.length === 1 ? problems[0] : ['The configuration is wrong:', ...problems].join('\n  - '));
  }
}

export interface ConfigInputs {
  /** Values by setting path, from the command line. */
  flags?: Record<string, unknown>;
  env?: NodeJS.ProcessEnv;
  /** YAML file; must exist when named. */
  file?: string;
}

/** Short environment names that everyone knows. */
const WELL_KNOWN: Record<string, string> = {
  'server.port': 'PORT',
  'observability.otlpEndpoint': 'OTEL_EXPORTER_OTLP_ENDPOINT',
  'security.adminKey': 'SVC_ADMIN_KEY',
  'observability.enabled': 'SVC_OBSERVABILITY',
};

/** Environment variables that are used if a setting is not set. */
const FALLBACKS: Record<string, string> = { 'data.sources': 'DATABASE_URL' };

interface Leaf {
  /** Names joined by dots. A name can contain dots. */
  path: string;
  names: readonly string[];
  schema: TSchema & { type?: string; default?: unknown; description?: string };
}

function leaves(schema: TSchema, names: readonly string[] = []): Leaf[] {
  const properties = (schema as { properties?: Record<string, TSchema> }).properties;
  if (!properties) return [{ path: names.join('.'), names, schema }];
  return Object.entries(properties).flatMap(([name, sub]) => leaves(sub, [...names, name]));
}

function environmentName(path: string): string {
  return WELL_KNOWN[path] ?? longName(path);
}

/** All names that a setting goes by in the environment. */
export function environmentNames(path: string): string[] {
  return [...new Set([environmentName(path), longName(path)])];
}

function longName(path: string): string {
  return `SVC_${path
    .split('.')
    .map((part) => part.replace(/([a-z])([A-Z])/g, '$1_$2').toUpperCase())
    .join('__')}`;
}

/** Reads, merges and checks the configuration. Throws `ConfigError` naming every wrong or unknown setting. */
export function loadConfig(inputs: ConfigInputs): { config: Config; settings: Setting[] } {
  const file = inputs.file === undefined ? {} : readConfigFile(inputs.file);
  const problems = unknownKeys(file, ConfigSchema, '');
  const config: Record<string, unknown> = {};
  const settings = leaves(ConfigSchema).map(({ path, names, schema }): Setting => {
    const { raw, source } = pick({ path, names, schema }, inputs, file);
    // Defaults are not validated: compiling their schemas took longer than all other steps of this function.
    const { value, errors } =
      source === 'default' ? { value: structuredClone(raw), errors: [] } : coerce(raw, schema);
    problems.push(...errors.map((error) => describeSetting(path, error, source)));
    assign(config, names, value);
    const secret = (schema as { 'x-secret'?: boolean })['x-secret'] ?? false;
    return {
      path,
      names,
      type: schema.type ?? 'string',
      description: schema.description ?? '',
      default: schema.default,
      value,
      source,
      env: environmentName(path),
      secret,
    };
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return { config: config as Config, settings };
}

function readConfigFile(path: string): Record<string, unknown> {
  if (!existsSync(path)) throw new ConfigError([`--config: there is no file ${path}.`]);
  let value: unknown;
  try {
    value = parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new ConfigError([`${path}: is not YAML: ${(error as Error).message}`]);
  }
  if (value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value))
    throw new ConfigError([
      `${path}: must be a YAML mapping of sections, for example 'server: {port: 8080}'.`,
    ]);
  return value as Record<string, unknown>;
}

function unknownKeys(value: Record<string, unknown>, schema: TSchema, prefix: string): string[] {
  const properties = (schema as { properties?: Record<string, TSchema> }).properties ?? {};
  return Object.entries(value).flatMap(([key, sub]) => {
    const path = prefix ? `${prefix}.${key}` : key;
    const property = properties[key];
    if (!property) return [`${path}: is not a setting.${suggestName(key, Object.keys(properties))}`];
    const nested = (property as { properties?: unknown }).properties;
    if (!nested) return [];
    if (typeof sub !== 'object' || sub === null || Array.isArray(sub))
      return [`${path}: must be a section, that is a YAML mapping; received ${showValue(sub)}.`];
    return unknownKeys(sub as Record<string, unknown>, property, path);
  });
}

function pick({ path, names, schema }: Leaf, { flags, env }: ConfigInputs, file: Record<string, unknown>) {
  const flag = flags?.[path];
  const fromFile = names.reduce<unknown>(
    (at, name) => (at as Record<string, unknown> | undefined)?.[name],
    file,
  );
  if (flag !== undefined)
    return { raw: isRecord(flag) ? added(fromFile, flag) : flag, source: 'flag' as const };
  const fromEnv = env?.[longName(path)] ?? env?.[environmentName(path)];
  if (fromEnv !== undefined && fromEnv !== '') {
    return { raw: fromText(fromEnv, schema.type), source: 'environment' as const };
  }
  if (fromFile !== undefined && fromFile !== null) return { raw: fromFile, source: 'file' as const };
  const fallback = env?.[FALLBACKS[path] ?? ''];
  if (fallback) return { raw: [fallback], source: 'environment' as const };
  return { raw: schema.default, source: 'default' as const };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Adds entries of flags to entries of the file. */
function added(fromFile: unknown, flag: Record<string, unknown>): Record<string, unknown> {
  return isRecord(fromFile) ? { ...fromFile, ...flag } : flag;
}

/** Lists are JSON or separated by commas, objects are JSON; what is not JSON is left for the check to refuse. */
function fromText(text: string, type: string | undefined): unknown {
  if (type === 'array' && !text.startsWith('[')) return text.split(',');
  if (type !== 'object' && type !== 'array') return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// Graticule defines these schemas, so they are not validated against the JSON Schema meta-schema, which takes long.
// Each schema is used once.
const ajv = new Ajv({
  coerceTypes: true,
  strict: false,
  meta: false,
  validateSchema: false,
  verbose: true,
  code: { optimize: false },
});
ajv.addFormat('network', (text) => Networks.isEntry(text));
ajv.addFormat('public-url', (text) => text === '' || isPublicUrl(text));
ajv.addFormat('storage-url', (text) => text === '' || parseBucketUrl(text) !== undefined);
ajv.addFormat('state-url', (text) => text === '' || isPostgresUrl(text));
ajv.addFormat('basemap', (text) => basemapSetting(text) !== undefined);

function coerce(raw: unknown, schema: TSchema): { value: unknown; errors: FieldError[] } {
  const holder = { value: raw };
  const valid = ajv.validate({ type: 'object', properties: { value: schema } }, holder);
  if (valid) return { value: holder.value, errors: [] };
  const check = (alternative: object, value: unknown): FieldError[] =>
    ajv.validate(alternative, value) ? [] : translateErrors(ajv.errors ?? [], { root: alternative, check });
  return { value: raw, errors: translateErrors(ajv.errors ?? [], { root: schema, check }).slice(0, 1) };
}

/** `server.port: must be an integer from 0 to 65535; received 'abc' from the environment.` */
function describeSetting(path: string, error: FieldError, source: ConfigSource): string {
  const schema = leaves(ConfigSchema).find((leaf) => leaf.path === path)?.schema;
  const isSecret = (schema as { 'x-secret'?: boolean } | undefined)?.['x-secret'] ?? false;
  const member = describeName((error.path ?? error.name).replace(/^\/value/, '') || '/');
  const name = member === 'body' ? path : `${path}${member.startsWith('[') ? '' : '.'}${member}`;
  const { received, ...others } = error;
  const from = `from the ${source}`;
  const shown = isSecret || received === undefined ? `a value ${from}` : `${hideSecrets(received)} ${from}`;
  return formatFieldError({ ...others, name, path: name, received: shown });
}

/** Every link starts with it, so it has no secret and nothing after its path. */
function isPublicUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && username + password + search + hash === '' && !/[?#]/.test(text);
}

function isPostgresUrl(text: string): boolean {
  return isDatabase(text) && URL.canParse(text);
}

function assign(target: Record<string, unknown>, names: readonly string[], value: unknown): void {
  let at = target;
  for (const name of names.slice(0, -1)) at = (at[name] ??= {}) as Record<string, unknown>;
  at[names.at(-1)!] = value;
}
