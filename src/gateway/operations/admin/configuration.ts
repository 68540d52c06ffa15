import { hostname } from 'node:os';
import Type from 'typebox';
import type { Setting } from '../../../core/config/config.js';
import { json } from '../../../core/http/reply.js';
import { type ConfigDocument, isSet, MASK, maskSetting, sections } from '../../admin/config-document.js';
import type { ServicesOf } from '../../admin/deps.js';
import { TimestampSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';
import { enumeration } from '../../admin/params.js';
import { pathPrefix } from '../../admin/path-prefix.js';

const SERVICES = ['config', 'openApi', 'server'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { report } = createRowBuilders(SERVICES);

const S = Type.String();
const I = Type.Integer();
const B = Type.Boolean();
const Any = Type.Unknown();

const Property = Type.Object({
  name: S,
  path: S,
  type: S,
  description: S,
  defaultValue: Any,
  currentValue: Any,
  source: S,
  environmentVariable: S,
  isRequired: B,
  isSensitive: B,
  validationRules: Type.Array(S),
});
const Section = Type.Object({ name: S, description: S, isRequired: B, properties: Type.Array(Property) });
const Variable = Type.Object({ name: S, configPath: S, description: S, required: B, default: Any });
const Model = Type.Object({
  version: S,
  environment: S,
  documentation: Type.String({ description: 'The same as Markdown.' }),
  metadata: Type.Record(S, S),
  sections: Type.Array(Section),
  environmentVariables: Type.Array(Variable),
});
const Metadata = Type.Object({
  typeName: S,
  sectionName: S,
  isRegistered: B,
  hasValidation: B,
  propertyCount: I,
  requiredPropertyCount: I,
  secretPropertyCount: I,
  lastModified: TimestampSchema,
});
const Documented = Type.Object({
  sectionName: S,
  typeName: S,
  description: S,
  properties: Type.Array(
    Type.Object({
      name: S,
      type: S,
      description: S,
      defaultValue: Any,
      environmentVariable: S,
      isRequired: B,
      isSecret: B,
      validationSummary: S,
    }),
  ),
});
const Secrets = Type.Object({
  totalSecrets: I,
  validSecrets: I,
  invalidSecrets: I,
  issues: Type.Array(Type.Object({ secretReference: S, issue: S, severity: S })),
});
const Summary = Type.Object({
  environment: S,
  totalTypes: I,
  registeredTypes: I,
  typesWithValidation: I,
  totalProperties: I,
  requiredProperties: I,
  secretProperties: I,
  totalSecrets: I,
  validSecrets: I,
  invalidSecrets: I,
  lastDiscovery: TimestampSchema,
  discoveryDurationMs: I,
});
const Audit = Type.Object({
  environment: S,
  applicationName: S,
  machineName: S,
  contentRoot: S,
  totalConfigurationKeys: I,
  configurationSources: Type.Record(S, I),
});

const OPENAPI_TYPE = 'application/vnd.oai.openapi+json';

/** The effective configuration of the server, and its OpenAPI document. */
export const configuration = group({ tag: 'Configuration', scope: 'configuration', envelope: 'raw' }, [
  report('GET /config', 'Get Configuration Documentation', {
    data: Model,
    answer: (_x, deps) => model(deps),
  }),
  report('GET /openapi.json', 'Get Admin OpenAPI Specification', {
    isForTenants: true,
    params: { f: enumeration('f', ['json'], 'Format of the document.') },
    responses: { 200: { description: 'The document.', content: { [OPENAPI_TYPE]: Type.Object({}) } } },
    reply: ({ baseUrl }, { openApi }) => json(openApi(pathPrefix(baseUrl)), OPENAPI_TYPE),
  }),
  report('GET /configuration/discover', 'Discover Configuration'),
  report('GET /configuration/metadata', 'Get Configuration Metadata', {
    data: Type.Array(Metadata),
    answer: (_x, { config }) => metadata(config),
  }),
  report('GET /configuration/auto-documentation', 'Get Configuration Auto-Documentation', {
    data: Type.Array(Documented),
    answer: (_x, { config }) => documented(config),
  }),
  report('GET /configuration/secrets/validate', 'Validate Configuration Secrets', {
    data: Secrets,
    answer: (_x, { config }) => secrets(config.settings),
  }),
  report('GET /configuration/audit', 'Get Configuration Audit Info', {
    data: Audit,
    answer: (_x, { config }) => audit(config),
  }),
  report('GET /configuration/summary', 'Get Configuration Summary', {
    data: Summary,
    answer: (_x, { config }) => summary(config),
  }),
]);

/** Last word of a path. */
function formatName({ path }: Setting): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

/** `server` -> `ServerOptions`: clients show it as the name of a type. */
function typeName(section: string): string {
  return `${section[0]!.toUpperCase()}${section.slice(1)}Options`;
}

function shownDefault(setting: Setting): unknown {
  return setting.secret && isSet(setting.default) ? MASK : (setting.default ?? null);
}

function model({ config, server }: Deps) {
  const { settings, environment } = config;
  return {
    version: server.version,
    environment,
    documentation: markdown(settings),
    metadata: { releaseChannel: server.releaseChannel },
    sections: [...sections(settings)].map(([name, members]) => ({
      name,
      description: `Settings below ${name}.`,
      isRequired: false,
      properties: members.map(property),
    })),
    environmentVariables: settings.map((setting) => ({
      name: setting.env,
      configPath: setting.path,
      description: setting.description,
      required: false,
      default: shownDefault(setting),
    })),
  };
}

function property(setting: Setting) {
  return {
    name: formatName(setting),
    path: setting.path,
    type: setting.type,
    description: setting.description,
    defaultValue: shownDefault(setting),
    currentValue: maskSetting(setting),
    source: setting.source,
    environmentVariable: setting.env,
    isRequired: false,
    isSensitive: setting.secret,
    validationRules: [`must be of type ${setting.type}`],
  };
}

function markdown(settings: readonly Setting[]): string {
  const rows = settings.map((setting) => {
    const cells = [
      `\`${setting.path}\``,
      setting.type,
      `\`${JSON.stringify(shownDefault(setting))}\``,
      `\`${setting.env}\``,
    ];
    return `| ${[...cells, setting.description.replaceAll('|', '\\|')].join(' | ')} |`;
  });
  return ['| Setting | Type | Default | Environment | Meaning |', '|---|---|---|---|---|', ...rows].join(
    '\n',
  );
}

/** The schema is compiled into the server: it changes only when the server does. */
const STARTED = timestamp(Date.now());

function metadata({ settings }: ConfigDocument) {
  return [...sections(settings)].map(([sectionName, members]) => ({
    typeName: typeName(sectionName),
    sectionName,
    isRegistered: true,
    hasValidation: true,
    propertyCount: members.length,
    requiredPropertyCount: 0,
    secretPropertyCount: members.filter(({ secret }) => secret).length,
    lastModified: STARTED,
  }));
}

function documented({ settings }: ConfigDocument) {
  return [...sections(settings)].map(([sectionName, members]) => ({
    sectionName,
    typeName: typeName(sectionName),
    description: `Settings below ${sectionName}.`,
    properties: members.map((setting) => ({
      name: formatName(setting),
      type: setting.type,
      description: setting.description,
      defaultValue: shownDefault(setting),
      environmentVariable: setting.env,
      isRequired: false,
      isSecret: setting.secret,
      validationSummary: `must be of type ${setting.type}`,
    })),
  }));
}

/** Shorter secrets can be guessed. */
const SECRET_LENGTH = 16;

/** The secrets of one setting: of each entry of a list, the password of a URL, or the text itself. */
function secretsIn({ path, value }: Setting): { path: string; secret: string }[] {
  if (Array.isArray(value))
    return value.flatMap((entry: { name?: string; secret?: string }, n) =>
      entry.secret === undefined ? [] : [{ path: `${path}.${entry.name ?? n}.secret`, secret: entry.secret }],
    );
  const text = String(value);
  if (!URL.canParse(text)) return [{ path, secret: text }];
  const password = decodeURIComponent(new URL(text).password);
  return password === '' ? [] : [{ path, secret: password }];
}

/** Secrets are optional; one that is set may still be too short to be one. */
function secrets(settings: readonly Setting[]) {
  const set = settings.filter(({ secret, value }) => secret && isSet(value)).flatMap(secretsIn);
  const issues = set
    .filter(({ secret }) => secret.length < SECRET_LENGTH)
    .map(({ path }) => ({
      secretReference: path,
      issue: `shorter than ${SECRET_LENGTH} characters`,
      severity: 'warning',
    }));
  return {
    totalSecrets: set.length,
    validSecrets: set.length - issues.length,
    invalidSecrets: issues.length,
    issues,
  };
}

function audit({ settings, environment, contentRoot }: ConfigDocument) {
  const configurationSources: Record<string, number> = {};
  for (const { source } of settings) configurationSources[source] = (configurationSources[source] ?? 0) + 1;
  return {
    environment,
    applicationName: 'graticule',
    machineName: hostname(),
    contentRoot,
    totalConfigurationKeys: settings.length,
    configurationSources,
  };
}

function summary({ settings, environment }: ConfigDocument) {
  const started = performance.now();
  const types = sections(settings).size;
  const { totalSecrets, validSecrets, invalidSecrets } = secrets(settings);
  return {
    environment,
    totalTypes: types,
    registeredTypes: types,
    typesWithValidation: types,
    totalProperties: settings.length,
    requiredProperties: 0,
    secretProperties: settings.filter(({ secret }) => secret).length,
    totalSecrets,
    validSecrets,
    invalidSecrets,
    lastDiscovery: new Date().toISOString(),
    discoveryDurationMs: Math.round(performance.now() - started),
  };
}
