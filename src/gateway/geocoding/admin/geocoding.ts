import { rm } from 'node:fs/promises';
import Type, { type Static } from 'typebox';
import { ApiError, badMember } from '../../../core/errors/errors.js';
import { REFERENCE_FIELDS } from '../../../core/geocoding/geocoding.js';
import { GEOCODING_LIMITS } from '../../../core/geocoding/limits.js';
import type { Exchange } from '../../../core/http/operation.js';
import { JsonBoundsError, parseJsonText } from '../../../core/values/json-bounds.js';
import { LOCATOR_NAME } from '../../../services/geocoding/locators.js';
import type { ProviderHealth } from '../../../services/geocoding/providers.js';
import type { Geocoding } from '../../../services/geocoding/service.js';
import { receiveUpload, type Upload } from '../../../services/uploads/upload.js';
import type { ServicesOf } from '../../admin/deps.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { createRowBuilders, group } from '../../admin/kit.js';

const SERVICES = ['geocoding'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, report } = createRowBuilders(SERVICES);

const S = Type.String();
const I = Type.Integer();

const MODES = ['replace', 'append'] as const;

const ImportForm = Type.Object({
  referenceData: Type.String({
    format: 'binary',
    description:
      'A .csv file whose first line names its columns; coordinates are longitude and latitude in degrees.',
  }),
  fieldMap: Type.Optional(
    Type.String({
      description: `JSON object with a field for each column: {"town": "city"}. The fields are ${REFERENCE_FIELDS.join(', ')}, and name_xx for the name in language xx. Default: the column names.`,
    }),
  ),
  locatorName: Type.String({
    pattern: LOCATOR_NAME.source,
    description: 'Name of the locator. A missing locator is created.',
  }),
  mode: Type.Optional(Type.Enum([...MODES], { default: 'replace' })),
});

const Imported = Type.Object({
  provider: S,
  locatorName: S,
  schema: S,
  table: S,
  recordsImported: I,
  recordsSkipped: I,
  report: Type.Array(
    Type.Object({
      column: S,
      status: Type.Enum(['supported', 'ignored']),
      detail: Type.Optional(S),
    }),
  ),
  skippedRows: Type.Array(Type.Object({ rowNumber: I, reason: S }), {
    description: `The first ${GEOCODING_LIMITS.geocodeSkipped}; rows are counted from 1 after the line of names.`,
  }),
});

const Health = {
  isHealthy: Type.Boolean(),
  lastChecked: OptionalTimestampSchema,
  responseTimeMs: Type.Union([Type.Number(), Type.Null()]),
  errorMessage: OptionalStringSchema,
};

const Capabilities = {
  supportsForwardGeocode: Type.Boolean(),
  supportsReverseGeocode: Type.Boolean(),
  supportsBatch: Type.Boolean(),
  supportsSuggest: Type.Boolean(),
  requiresAuthentication: Type.Boolean(),
  maxResultsPerRequest: I,
};

const buildHealth = ({ lastChecked, ...health }: ProviderHealth) => ({
  ...health,
  lastChecked: optionalTimestamp(lastChecked),
});

function common({ providers, settings }: Geocoding) {
  return { defaultProvider: providers[0]?.name ?? null, failoverEnabled: settings.failover };
}

/** Geocoding as seen by operators. */
export const geocodingOperations = [
  report('GET /operations/geocoding/providers', 'Get Geocoding Provider Status', {
    description: 'Health and times are from requests to this gateway process.',
    data: Type.Object({
      defaultProvider: OptionalStringSchema,
      failoverEnabled: Type.Boolean(),
      generatedAt: TimestampSchema,
      providers: Type.Array(
        Type.Object({
          providerName: S,
          ...Health,
          capabilities: Type.Object({
            ...Capabilities,
            maxBatchSize: I,
            supportsStructuredInput: Type.Boolean(),
          }),
        }),
      ),
    }),
    answer: (_x, { geocoding }) => ({
      ...common(geocoding),
      generatedAt: timestamp(Date.now()),
      providers: geocoding.providers.map(({ name, health, abilities }) => ({
        providerName: name,
        ...buildHealth(health),
        capabilities: abilities,
      })),
    }),
  }),
  report('GET /operations/geocoding/configuration', 'Get Geocoding Configuration', {
    data: Type.Object({
      enabled: Type.Boolean(),
      enableCaching: Type.Boolean(),
      enableFailover: Type.Boolean(),
      defaultProvider: OptionalStringSchema,
      defaultTimeoutSeconds: I,
      cacheExpirationMinutes: I,
      maxFailoverAttempts: I,
    }),
    answer(_x, { geocoding: { providers, settings } }) {
      const { enabled, failover, timeoutSeconds, cacheMinutes } = settings;
      return {
        enabled,
        enableCaching: cacheMinutes > 0,
        enableFailover: failover,
        defaultProvider: providers[0]?.name ?? null,
        defaultTimeoutSeconds: timeoutSeconds,
        cacheExpirationMinutes: cacheMinutes,
        maxFailoverAttempts: failover ? providers.length - 1 : 0,
      };
    },
  }),
];

/** Geocoding providers and reference data. */
export const geocoding = group({ tag: 'Geocoding', scope: 'geocoding', envelope: 'wrapped' }, [
  report('GET /geocoding/providers', 'Get Geocoding Providers', {
    description: 'Health and times are from requests to this gateway process.',
    data: Type.Object({
      defaultProvider: OptionalStringSchema,
      failoverEnabled: Type.Boolean(),
      providers: Type.Array(Type.Object({ name: S, ...Health, capabilities: Type.Object(Capabilities) })),
    }),
    answer: (_x, { geocoding }) => ({
      ...common(geocoding),
      providers: geocoding.providers.map(({ name, health, abilities }) => {
        const { supportsStructuredInput: _, maxBatchSize: __, ...capabilities } = abilities;
        return { name, ...buildHealth(health), capabilities };
      }),
    }),
  }),
  action('POST /geocoding/reference-data/import', 'Import Geocoder Reference Data', {
    description:
      'Rows without coordinates or names are skipped and listed. The locator uses its previous data until all rows are imported. replace replaces that data, append adds to it.',
    body: {
      schema: ImportForm,
      mediaTypes: ['multipart/form-data'],
      required: true,
      maxBytes: GEOCODING_LIMITS.geocodeFileBytes,
      streamed: true,
    },
    data: Imported,
    errors: [400, 413, 503],
    answer: importReferenceData,
  }),
]);

async function importReferenceData(x: Exchange, deps: Deps): Promise<Static<typeof Imported>> {
  const file = await receive(x, deps);
  try {
    const { locatorName, ...form } = parseForm(file.fields);
    const outcome = await deps.geocoding.locators.import(x, locatorName, { ...form, file: file.path });
    if ('problem' in outcome) throw wrong(outcome.problem.part, outcome.problem.detail);
    return { provider: 'local', locatorName, schema: 'main', table: 'places', ...outcome };
  } finally {
    await rm(file.path, { force: true });
  }
}

async function receive(x: Exchange, { geocoding: { locators } }: Deps): Promise<Upload> {
  const rules = {
    directory: locators.uploads,
    maxBytes: GEOCODING_LIMITS.geocodeFileBytes,
    extensions: new Set(['.csv']),
    texts: new Set(['fieldmap']),
  };
  try {
    return await receiveUpload({ contentType: x.header('content-type'), bytes: x.upload }, rules);
  } catch (error) {
    // The contract has no 415 here.
    if (error instanceof ApiError && error.status === 415)
      throw wrong('referenceData', 'must be a .csv file in a multipart form');
    throw error;
  }
}

function parseForm(fields: ReadonlyMap<string, string>) {
  const locatorName = fields.get('locatorname')?.trim() ?? '';
  if (!LOCATOR_NAME.test(locatorName))
    throw wrong(
      'locatorName',
      'must be 1 to 64 letters, digits, underscores and hyphens, and must start with a letter',
    );
  const text = fields.get('mode')?.trim().toLowerCase() || 'replace';
  const mode = MODES.find((one) => one === text);
  if (!mode) throw wrong('mode', `must be ${MODES.join(' or ')}`);
  const fieldMap = parseFieldMap(fields.get('fieldmap')?.trim());
  return { locatorName, mode, ...(fieldMap ? { fieldMap } : {}) };
}

function parseFieldMap(text: string | undefined): Record<string, string> | undefined {
  if (!text) return undefined;
  const map = readJson(text);
  if (typeof map !== 'object' || map === null || Array.isArray(map))
    throw wrong('fieldMap', 'must be a JSON object of fields by columns');
  for (const value of Object.values(map))
    if (typeof value !== 'string') throw wrong('fieldMap', 'must have names of fields as its values');
  return map as Record<string, string>;
}

function readJson(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch (error) {
    throw wrong('fieldMap', error instanceof JsonBoundsError ? error.message : 'must be JSON');
  }
}

function wrong(name: string, detail: string): ApiError {
  return badMember(name, detail);
}
