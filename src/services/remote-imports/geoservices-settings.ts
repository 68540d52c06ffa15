import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasFeatures } from '../../core/abilities.js';
import { type CatalogSnapshot, type VectorCollection, whole } from '../../core/collection.js';
import type { GeoServicesField } from '../../core/ingest.js';
import type { CodedValueDomain, FieldSettings } from '../../core/layer-settings.js';
import { LIMITS } from '../../core/limits.js';
import { importDrawingInfo } from '../../core/style/drawing-info/import.js';
import type { RemoteInput } from '../import.js';
import type { JobContext } from '../jobs/kinds.js';
import { codeProblem } from '../layers/checks.js';
import type { Layers } from '../layers/layers.js';
import type { Styles } from '../styles/index.js';
import { targetOf } from '../styles/translations.js';
import type { GeoServicesSource, LayerNotes } from './geoservices.js';
import { shownCollection } from './shown-collection.js';
import { hasOwnStyle, IMPORT, putSourceStyle, STYLE_STAYS } from './source-style.js';

/** As the management API has them. */
const CODED_VALUES = 512;
const CHARACTERS = 256;
const DESCRIPTION = 2000;
type Context = JobContext<RemoteInput<GeoServicesSource>>;

/** What a layer of GeoServices says besides its features, as settings and style of the collection that it became. */
export class GeoServicesSettings {
  constructor(
    private readonly layers: Layers,
    private readonly styles: Styles,
    private readonly catalog: () => CatalogSnapshot,
  ) {}

  /** What has no counterpart here becomes warnings of the job. May be called again. */
  async take(context: Context, folder: string): Promise<void> {
    const notes = JSON.parse(await readFile(join(folder, 'layer.json'), 'utf8')) as LayerNotes;
    const { input, signal } = context;
    const collection = await shownCollection(this.catalog, input.table, hasFeatures, signal);
    const warnings = [
      ...leftBehind(notes, context.input.remote),
      ...(await this.#describe(collection, notes)),
      ...(await this.#draw(collection, notes)),
    ];
    for (const warning of warnings) await context.warn(warning);
  }

  async #describe(collection: VectorCollection, { layer, columns }: LayerNotes): Promise<string[]> {
    const warnings: string[] = [];
    const before = new Map(this.layers.settingsOf(collection).fields?.map((one) => [one.name, one]));
    for (const { name, field } of columns) {
      const fieldNotes = layer.fields.find((one) => one.name === field)!;
      const domain = domainOf(fieldNotes, name, whole(collection), warnings);
      const isHidden = before.get(name)?.hidden === true;
      const alias =
        fieldNotes.alias !== undefined && fieldNotes.alias !== name ? fieldNotes.alias : undefined;
      before.set(name, {
        name,
        ...(alias === undefined ? {} : { alias: alias.slice(0, CHARACTERS) }),
        ...(isHidden ? { hidden: true } : {}),
        ...(domain ? { domain } : {}),
      });
    }
    const fields: FieldSettings[] = [...before.values()].filter((one) => Object.keys(one).length > 1);
    const description = layer.description?.slice(0, DESCRIPTION);
    await this.layers.put(
      collection,
      { fields: fields.length > 0 ? fields : undefined, ...(description ? { description } : {}) },
      IMPORT,
    );
    return warnings;
  }

  /** A style that somebody put stays. */
  async #draw(collection: VectorCollection, { layer }: LayerNotes): Promise<string[]> {
    const { drawingInfo } = layer;
    if (drawingInfo === undefined) return [];
    if (await hasOwnStyle(this.styles, collection.layerId)) return [STYLE_STAYS];
    if (JSON.stringify(drawingInfo).length > LIMITS.styleCharacters)
      return ['The drawingInfo of the layer is too large, and was left out.'];
    const { layers, unsupported } = importDrawingInfo(drawingInfo, targetOf(whole(collection)));
    const warnings = unsupported.map(
      ({ symbolizerType, guidance }) => `Style: ${symbolizerType}: ${guidance}`,
    );
    const change = { drawingInfo, changeSummary: 'drawingInfo of GeoServices' };
    return [...warnings, ...(await putSourceStyle(this.styles, collection, layers, change))];
  }
}

function leftBehind({ layer, columns }: LayerNotes, { relatesLater }: GeoServicesSource): string[] {
  const { hasAttachments, unreadable, relationships } = layer;
  return [
    ...(hasAttachments ? ['The layer has attachments, which were left behind.'] : []),
    ...unreadable.map((name) => `The field ${name} has values that JSON cannot hold, and was left out.`),
    ...relationships
      .filter(({ keyField }) => !relatesLater || !columns.some(({ field }) => field === keyField))
      .map(({ name }) => `The relationship ${name} was left out.`),
    ...columns
      .filter(({ name, field }) => name !== field)
      .map(({ name, field }) => `The field ${field} is called ${name}: the name is reserved.`),
  ];
}

function domainOf(
  { domain: value }: GeoServicesField,
  name: string,
  { source }: VectorCollection,
  warnings: string[],
): CodedValueDomain | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const domain = value as { type?: unknown; name?: unknown; codedValues?: unknown };
  const field = source.fields.find((one) => one.name === name);
  const codes = Array.isArray(domain.codedValues) ? domain.codedValues : [];
  const isSound =
    domain.type === 'codedValue' &&
    codes.length > 0 &&
    codes.length <= CODED_VALUES &&
    codes.every((one) => isCode(one?.code) && typeof one?.name === 'string');
  const read: CodedValueDomain | undefined = isSound
    ? {
        type: 'codedValue',
        name: String(domain.name ?? name).slice(0, CHARACTERS),
        codedValues: codes.map(({ code, name: label }) => ({ code, name: label.slice(0, CHARACTERS) })),
      }
    : undefined;
  if (read && field && codeProblem(field, read) === undefined) return read;
  warnings.push(`The domain of ${name} (${String(domain.type).slice(0, 40)}) was left out.`);
  return undefined;
}

const isCode = (code: unknown) =>
  typeof code === 'number' || (typeof code === 'string' && code.length <= CHARACTERS);
