import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SERVICE } from '../../../core/access/access.js';
import { hasFeatures } from '../../../core/catalog/abilities.js';
import { type CatalogSnapshot, type VectorCollection, whole } from '../../../core/catalog/collection.js';
import type {
  CodedValueDomain,
  FieldSettings,
  LayerSettings,
  RangeDomain,
} from '../../../core/catalog/layer-settings.js';
import type { GeoServicesField } from '../../../core/exchange/ingest.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { CodedValue, DomainCode } from '../../../core/sources/vector-source.js';
import { importDrawingInfo } from '../../../core/styles/drawing-info/import.js';
import { type AnyNumber, isExactNumber, toDouble } from '../../../core/values/exact-number.js';
import { decodeStoredJson } from '../../../core/values/json.js';
import { compareNumbers } from '../../../core/values/sortable-digits.js';
import { domainProblem } from '../../catalog/layers/checks.js';
import type { Layers } from '../../catalog/layers/layers.js';
import type { JobContext } from '../../jobs/kinds.js';
import type { Styles } from '../../styles/index.js';
import { describeSldTarget } from '../../styles/translations.js';
import type { RemoteInput } from '../import-input.js';
import type { GeoServicesLayerNotes, GeoServicesSource } from './geoservices-source.js';
import { shownCollection } from './shown-collection.js';
import { hasOwnStyle, IMPORT, putSourceStyle, STYLE_STAYS } from './source-style.js';

/** Limits of the management API. */
const CODED_VALUES = 512;
const CHARACTERS = 256;
const DESCRIPTION = 2000;
type Context = JobContext<RemoteInput<GeoServicesSource>>;

/** Imports the metadata of a GeoServices layer as settings and style of the collection created from it. */
export class GeoServicesSettings {
  constructor(
    private readonly layers: Layers,
    private readonly styles: Styles,
    private readonly catalog: () => CatalogSnapshot,
  ) {}

  /** Sets the service of a new collection, and whether APIs serve it, before the collection exists. */
  async place({ table, remote }: RemoteInput<GeoServicesSource>): Promise<void> {
    const id = table.toLowerCase();
    if (!this.catalog().byId(id)) await this.layers.put({ id }, buildPlace(remote), IMPORT);
  }

  async withdraw({ table }: RemoteInput<GeoServicesSource>): Promise<void> {
    const id = table.toLowerCase();
    const { service, enabled } = this.layers.settingsOf({ id });
    const isPlaced = service !== undefined || enabled !== undefined;
    if (isPlaced && !this.catalog().byId(id))
      await this.layers.put({ id }, { service: undefined, enabled: undefined }, IMPORT);
  }

  /**
   * Imports settings and style. Parts without an equivalent in Graticule become warnings of the job. Can be called
   * again.
   */
  async take(context: Context, folder: string): Promise<void> {
    const notes = decodeStoredJson(
      await readFile(join(folder, 'layer.json'), 'utf8'),
    ) as GeoServicesLayerNotes;
    const { input, signal } = context;
    const collection = await shownCollection(this.catalog, input.table, hasFeatures, signal);
    const warnings = [
      ...leftBehind(notes, context.input.remote),
      ...(await this.#describe(collection, notes, input.remote)),
      ...(await this.#draw(collection, notes)),
    ];
    for (const warning of warnings) await context.warn(warning);
  }

  async #describe(
    collection: VectorCollection,
    { layer, columns }: GeoServicesLayerNotes,
    { service, disabled }: GeoServicesSource,
  ): Promise<string[]> {
    const warnings: string[] = [];
    const current = this.layers.settingsOf(collection);
    const before = new Map(current.fields?.map((one) => [one.name, one]));
    for (const { name, field } of columns) {
      const fieldNotes = layer.fields.find((one) => one.name === field)!;
      const domain = findDomain(fieldNotes, name, whole(collection), warnings);
      const { alias: _, domain: __, ...others } = before.get(name) ?? { name };
      const alias =
        fieldNotes.alias !== undefined && fieldNotes.alias !== name ? fieldNotes.alias : undefined;
      before.set(name, {
        ...others,
        ...(alias === undefined ? {} : { alias: alias.slice(0, CHARACTERS) }),
        ...(domain ? { domain } : {}),
      });
    }
    const fields: FieldSettings[] = [...before.values()].filter((one) => Object.keys(one).length > 1);
    const description = layer.description?.slice(0, DESCRIPTION);
    const settings: LayerSettings = {
      ...(fields.length > 0 ? { fields } : { fields: undefined }),
      // A description by an operator is kept.
      ...(description && current.description === undefined ? { description } : {}),
      ...buildPlace({ service, disabled }, current),
    };
    await this.layers.put(collection, settings, IMPORT);
    return warnings;
  }

  /** Sets the style of the source. A style by an operator is kept. */
  async #draw(collection: VectorCollection, { layer }: GeoServicesLayerNotes): Promise<string[]> {
    const { drawingInfo } = layer;
    if (drawingInfo === undefined) return [];
    if (await hasOwnStyle(this.styles, collection.layerId)) return [STYLE_STAYS];
    if (JSON.stringify(drawingInfo).length > LIMITS.styleCharacters)
      return ['The drawingInfo of the layer is too large and was omitted.'];
    const { layers, unsupported } = importDrawingInfo(drawingInfo, describeSldTarget(whole(collection)));
    const warnings = unsupported.map(
      ({ symbolizerType, guidance }) => `Style: ${symbolizerType}: ${guidance}`,
    );
    const change = { drawingInfo, changeSummary: 'drawingInfo of GeoServices' };
    return [...warnings, ...(await putSourceStyle(this.styles, collection, layers, change))];
  }
}

function leftBehind(
  { layer, columns }: GeoServicesLayerNotes,
  { relatesLater }: GeoServicesSource,
): string[] {
  const { unreadable, relationships } = layer;
  return [
    ...unreadable.map((name) => `The field ${name} has values that JSON cannot represent, and was omitted.`),
    ...relationships
      .filter(({ keyField }) => !relatesLater || !columns.some(({ field }) => field === keyField))
      .map(({ name }) => `The relationship ${name} was omitted.`),
    ...columns
      .filter(({ name, field }) => name !== field)
      .map(({ name, field }) => `The field ${field} is called ${name}: the name is reserved.`),
  ];
}

/** Service and enabled state from an import. The present values are kept if the import does not set them. */
function buildPlace(
  { service, disabled }: Pick<GeoServicesSource, 'service' | 'disabled'>,
  before: LayerSettings = {},
): Record<'service', string | undefined> & Record<'enabled', boolean | undefined> {
  return {
    service: service === SERVICE ? undefined : (service ?? before.service),
    enabled: disabled ? false : before.enabled,
  };
}

function findDomain(
  { domain: value }: GeoServicesField,
  name: string,
  { source }: VectorCollection,
  warnings: string[],
): CodedValueDomain | RangeDomain | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const domain = value as RemoteDomain;
  const field = source.fields.find((one) => one.name === name);
  const read = domain.type === 'range' ? findRange(domain, name) : findCodes(domain, name);
  if (read && field && domainProblem(field, read) === undefined) return read;
  warnings.push(`The domain of ${name} (${String(domain.type).slice(0, 40)}) was omitted.`);
  return undefined;
}

interface RemoteDomain {
  readonly type?: unknown;
  readonly name?: unknown;
  readonly codedValues?: unknown;
  readonly range?: unknown;
}

const formatName = ({ name }: RemoteDomain, field: string) => String(name ?? field).slice(0, CHARACTERS);

function findRange(domain: RemoteDomain, field: string): RangeDomain | undefined {
  const { range } = domain;
  const [min = null, max = null] = Array.isArray(range) && range.length === 2 ? (range as unknown[]) : [];
  const isBound = (bound: unknown): bound is AnyNumber | null => bound === null || isNumber(bound);
  if (!isBound(min) || !isBound(max) || (min === null && max === null)) return undefined;
  if (min !== null && max !== null && compareNumbers(min, max) > 0) return undefined;
  return { type: 'range', name: formatName(domain, field), range: [min, max] };
}

function findCodes(domain: RemoteDomain, field: string): CodedValueDomain | undefined {
  const codes: readonly unknown[] = Array.isArray(domain.codedValues) ? domain.codedValues : [];
  if (domain.type !== 'codedValue' || codes.length === 0 || codes.length > CODED_VALUES) return undefined;
  if (!codes.every(isCodedValue)) return undefined;
  return {
    type: 'codedValue',
    name: formatName(domain, field),
    codedValues: codes.map((one) => ({ code: one.code, name: one.name.slice(0, CHARACTERS) })),
  };
}

function isCodedValue(value: unknown): value is CodedValue {
  const { code, name } = (value ?? {}) as { code?: unknown; name?: unknown };
  return isCode(code) && typeof name === 'string';
}

const isCode = (code: unknown): code is DomainCode =>
  isNumber(code) || (typeof code === 'string' && code.length <= CHARACTERS);

const isNumber = (value: unknown): value is AnyNumber =>
  Number.isFinite(isExactNumber(value) ? toDouble(value) : value);
