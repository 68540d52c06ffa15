import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { CatalogSnapshot } from '../../../core/catalog/collection.js';
import { unreadLayer } from '../../../core/catalog/unread.js';
import { and, type Expression } from '../../../core/cql2/index.js';
import { type ApiError, badParameter } from '../../../core/errors/errors.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { importDrawingInfo } from '../../../core/styles/drawing-info/import.js';
import { describeSldTarget } from '../../../services/styles/translations.js';
import { parseQueryFilter } from '../features/query-request.js';
import {
  type Members,
  naming,
  readObjectMember,
  readObjectsMember,
  readTextMember,
  requireObject,
  wholeNumber,
} from '../members.js';
import type { DrawnLayer } from './map-layers.js';

/**
 * Layers of a map service that a request selects, with filters. Each reader throws 400 with the name of the
 * parameter.
 */

export interface MapChoice {
  /** Top layer first, in drawing order. */
  readonly layers: readonly DrawnLayer[];
  /** Checked filters by the id of the collection. */
  readonly filters: ReadonlyMap<string, Expression>;
}

const MAX_TEXT = 8000;

/** `dynamicLayers` where it is there, else what `layers` leaves; `layerDefs` narrows either. */
export function mapChoice(all: readonly DrawnLayer[], members: Members, catalog: CatalogSnapshot): MapChoice {
  const dynamic = readObjectsMember(members, 'dynamicLayers', LIMITS.collectionsPerRequest);
  if (dynamic) {
    const choice = dynamicChoice(all, dynamic, catalog);
    return { ...choice, filters: during(choice.layers, members, choice.filters) };
  }
  const layers = shown(all, readTextMember(members, 'layers', MAX_TEXT), catalog).slice(
    0,
    LIMITS.collectionsPerRequest,
  );
  return { layers, filters: during(layers, members, definitions(layers, members)) };
}

/** `show:1,2`, `hide:`, `include:`, `exclude:`; of `identify` also `top`, `visible` and `all`. */
function shown(
  all: readonly DrawnLayer[],
  text: string | undefined,
  catalog: CatalogSnapshot,
): readonly DrawnLayer[] {
  if (text === undefined) return all;
  const [, verb = 'show', list] =
    /^\s*(?:(show|hide|include|exclude|top|visible|all)\s*:?)?\s*([\d,\s]*)$/i.exec(text) ?? [];
  if (list === undefined)
    throw badParameter(
      'layers',
      'must be show:, hide:, include: or exclude: and the numbers of layers, for example show:0,2',
    );
  const ids =
    list.trim() === '' ? undefined : new Set(list.split(',').map((id) => wholeNumber('layers', id)));
  const isOut = ['hide', 'exclude'].includes(verb.toLowerCase());
  // `show:` without numbers selects no layer. For identify, the word only says where to search.
  if (!ids) return /^(show|hide|include|exclude)$/i.test(verb) && !isOut ? [] : all;
  for (const id of ids)
    if (!all.some(({ layerId }) => layerId === id)) throw absentLayer('layers', id, catalog);
  return all.filter(({ layerId }) => ids.has(layerId) !== isOut);
}

/** 503 for a layer whose source could not be read yet, else 400. */
function absentLayer(parameter: string, id: number, catalog: CatalogSnapshot): ApiError {
  return unreadLayer(catalog, id) ?? badParameter(parameter, `there is no layer ${id}`);
}

/** Conditions by layer: JSON by number, or `0:condition;1:condition`. */
function definitions(layers: readonly DrawnLayer[], members: Members): Map<string, Expression> {
  const filters = new Map<string, Expression>();
  for (const [key, where] of Object.entries(layerDefs(members))) {
    const id = wholeNumber('layerDefs', key);
    const layer = layers.find(({ layerId }) => layerId === id);
    if (layer) narrow(filters, layer, 'layerDefs', { where });
  }
  return filters;
}

/** The same filters, limited to the requested time. */
function during(
  layers: readonly DrawnLayer[],
  members: Members,
  before: ReadonlyMap<string, Expression>,
): Map<string, Expression> {
  const filters = new Map(before);
  const time = readTextMember(members, 'time', MAX_TEXT);
  if (time !== undefined) for (const layer of layers) narrow(filters, layer, 'time', { time });
  return filters;
}

export function layerDefs(members: Members): Record<string, unknown> {
  const text = members['layerDefs'];
  if (typeof text !== 'string' || /^\s*\{/.test(text)) return { ...readObjectMember(members, 'layerDefs') };
  const parts = (text.match(/(?:'[^']*'|[^;'])+/g) ?? []).filter((part) => part.trim() !== '');
  return Object.fromEntries(
    parts.map((part) => {
      const [, id, where] = /^\s*(\d{1,10})\s*:(.*)$/s.exec(part) ?? [];
      if (id === undefined) throw badParameter('layerDefs', 'must be conditions by the numbers of layers');
      return [id, where];
    }),
  );
}

function narrow(
  filters: Map<string, Expression>,
  layer: DrawnLayer,
  parameter: string,
  members: Members,
): void {
  if (!hasFeatures(layer)) return;
  const filter = and(
    filters.get(layer.id),
    naming(parameter, () => parseQueryFilter(layer, members)),
  );
  if (filter !== undefined) filters.set(layer.id, filter);
}

/** Layers defined by a client: each refers to a published layer, and may have its own condition and drawing. */
function dynamicChoice(
  all: readonly DrawnLayer[],
  asked: readonly Members[],
  catalog: CatalogSnapshot,
): MapChoice {
  const filters = new Map<string, Expression>();
  const layers = asked.map((one) => {
    const source = requireObject('dynamicLayers', one['source'] ?? {});
    if (source['type'] !== 'mapLayer')
      throw badParameter('dynamicLayers', 'must have sources of the type mapLayer');
    const id = naming('dynamicLayers', () => wholeNumber('mapLayerId', source['mapLayerId']));
    const layer = all.find(({ layerId }) => layerId === id);
    if (!layer) throw absentLayer('dynamicLayers', id, catalog);
    narrow(filters, layer, 'dynamicLayers', { where: one['definitionExpression'] });
    return drawnBy(layer, one['drawingInfo']);
  });
  const ids = new Set(layers.map(({ id }) => id));
  if (ids.size < layers.length) throw badParameter('dynamicLayers', 'must name each layer once');
  return { layers, filters };
}

/** A layer as a drawingInfo draws it. */
function drawnBy(layer: DrawnLayer, drawingInfo: unknown): DrawnLayer {
  if (drawingInfo === undefined || drawingInfo === null || !hasFeatures(layer)) return layer;
  const { layers, unsupported } = importDrawingInfo(drawingInfo, describeSldTarget(layer));
  if (layers.length === 0)
    throw badParameter('dynamicLayers', `cannot be drawn: ${unsupported[0]?.guidance ?? 'it has no symbol'}`);
  return { ...layer, style: { version: 0, layers } };
}
