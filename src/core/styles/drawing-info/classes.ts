import { equalsTexts, listIntegerTexts } from '../integer-texts.js';
import { STYLE_LIMITS } from '../limits.js';
import type { SldContext } from '../sld/import/context.js';
import type { SldLayerDraft } from '../sld/import/layer-draft.js';
import type { Expr } from '../sld/values.js';
import { type Json, readJsonNumber, readJsonString, record, records } from './json.js';
import type { DrawingReport } from './report.js';
import { readSymbolDrawings } from './symbols.js';

/** A class of a renderer: what takes features into it, and what draws them. */
export interface DrawingClass {
  readonly label: string | undefined;
  /** Undefined takes all that no other class takes. */
  readonly condition: Expr | undefined;
  readonly drawings: readonly SldLayerDraft[];
}

type Reader = (
  renderer: Json,
  draw: (symbol: unknown) => SldLayerDraft[],
  report: DrawingReport,
  context: SldContext,
) => DrawingClass[];

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['simple', simple],
  ['uniqueValue', uniqueValues],
  ['classBreaks', classBreaks],
]);

export function readDrawingClasses(
  renderer: Json | undefined,
  opacity: number,
  report: DrawingReport,
  context: SldContext,
): DrawingClass[] {
  if (!renderer) {
    report.add('RENDERER_PAYLOAD_INCOMPLETE', 'renderer', 'A drawingInfo has a renderer.');
    return [];
  }
  const type = readJsonString(renderer['type']) ?? '';
  const read = READERS.get(type);
  if (!read) {
    report.add('RENDERER_TYPE_UNSUPPORTED', type || 'renderer', 'Use simple, uniqueValue or classBreaks.');
    return [];
  }
  for (const variable of records(renderer['visualVariables'])) {
    const name = `visualVariables ${readJsonString(variable['type']) ?? ''}`.trim();
    report.add('RENDERER_TYPE_UNSUPPORTED', name, 'Visual variables are left out: use classes.');
  }
  if (renderer['rotationExpression']) {
    report.add('RENDERER_TYPE_UNSUPPORTED', 'rotationExpression', 'Rotation by attribute is left out.');
  }
  return read(renderer, (symbol) => readSymbolDrawings(symbol, opacity, report), report, context);
}

function simple(renderer: Json, draw: (symbol: unknown) => SldLayerDraft[]): DrawingClass[] {
  return [
    { label: readJsonString(renderer['label']), condition: undefined, drawings: draw(renderer['symbol']) },
  ];
}

/** Class of all remaining values, if the renderer has one. */
function others(renderer: Json, draw: (symbol: unknown) => SldLayerDraft[]): DrawingClass[] {
  if (!record(renderer['defaultSymbol'])) return [];
  return [
    {
      label: readJsonString(renderer['defaultLabel']),
      condition: undefined,
      drawings: draw(renderer['defaultSymbol']),
    },
  ];
}

function uniqueValues(
  renderer: Json,
  draw: (symbol: unknown) => SldLayerDraft[],
  report: DrawingReport,
  context: SldContext,
): DrawingClass[] {
  const fields = ['field1', 'field2', 'field3']
    .map((name) => readJsonString(renderer[name]))
    .filter((name) => name !== undefined);
  const infos = records(renderer['uniqueValueInfos']);
  if (fields.length === 0 || infos.length === 0) {
    const guidance =
      'A uniqueValue renderer has field1 and uniqueValueInfos; expressions of values are not read.';
    report.add('RENDERER_PAYLOAD_INCOMPLETE', 'uniqueValue', guidance);
    return others(renderer, draw);
  }
  const delimiter = readJsonString(renderer['fieldDelimiter']) ?? ',';
  const key = classKey(fields, delimiter, context);
  const shown = bounded(infos, 'uniqueValue', report).map((info) => {
    const value = valueText(info['value']);
    return { info, value, texts: clientTexts(value, fields, delimiter) };
  });
  if (shown.some(({ texts }) => texts.length > 1))
    report.add(
      'RENDERER_PAYLOAD_INCOMPLETE',
      'value',
      'MapLibre clients round integers beyond 2^53: neighbouring values may have one symbol there. Maps of the server tell them apart.',
    );
  const classes = shown.map(
    ({ info, value, texts }): DrawingClass => ({
      label: readJsonString(info['label']) ?? value,
      condition: equalsTexts(key, texts),
      drawings: draw(info['symbol']),
    }),
  );
  return [...classes, ...others(renderer, draw)];
}

const valueText = (value: unknown) => String(value ?? '');

/** Strings that clients compare with a class value, which is one attribute or several joined ones. */
function clientTexts(value: string, fields: readonly string[], delimiter: string): string[] {
  if (fields.length === 1) return listIntegerTexts(value);
  const rounded = value
    .split(delimiter)
    .map((part) => listIntegerTexts(part).at(-1)!)
    .join(delimiter);
  return rounded === value ? [value] : [value, rounded];
}

/** Values are compared as text, several attributes joined. */
function classKey(fields: readonly string[], delimiter: string, context: SldContext): Expr {
  const parts = fields.map((field): Expr => ['to-string', ['get', context.property(field).name]]);
  return parts.length === 1
    ? parts[0]!
    : ['concat', ...parts.flatMap((part, i) => (i === 0 ? [part] : [delimiter, part]))];
}

/** Class breaks: a class contains values above the previous maximum up to its maximum. */
function classBreaks(
  renderer: Json,
  draw: (symbol: unknown) => SldLayerDraft[],
  report: DrawingReport,
  context: SldContext,
): DrawingClass[] {
  const field = readJsonString(renderer['field']);
  const infos = bounded(records(renderer['classBreakInfos']), 'classBreaks', report);
  const ends = infos.map((info) => readJsonNumber(info['classMaxValue']));
  if (field === undefined || infos.length === 0 || ends.some((end) => end === undefined)) {
    const guidance = 'A classBreaks renderer has field and classBreakInfos with classMaxValue.';
    report.add('RENDERER_PAYLOAD_INCOMPLETE', 'classBreaks', guidance);
    return others(renderer, draw);
  }
  if (
    readJsonString(renderer['normalizationType']) &&
    renderer['normalizationType'] !== 'esriNormalizeNone'
  ) {
    report.add('RENDERER_TYPE_UNSUPPORTED', 'normalizationType', 'Classes are of the values as they are.');
  }
  if (ends.some((end) => Number.isInteger(end) && !Number.isSafeInteger(end)))
    report.add(
      'RENDERER_PAYLOAD_INCOMPLETE',
      'classMaxValue',
      'Limits beyond 2^53 are the nearest 64-bit floating point numbers.',
    );
  const value: Expr = ['get', context.property(field).name];
  const least = readJsonNumber(renderer['minValue']);
  const classes = infos.map((info, i): DrawingClass => {
    const own = readJsonNumber(info['classMinValue']);
    const from: Expr | undefined =
      i > 0
        ? ['>', value, ends[i - 1]!]
        : (own ?? least) === undefined
          ? undefined
          : ['>=', value, (own ?? least)!];
    const to: Expr = ['<=', value, ends[i]!];
    const isNumber: Expr = ['==', ['typeof', value], 'number'];
    return {
      label: readJsonString(info['label']),
      condition: ['all', isNumber, ...(from === undefined ? [] : [from]), to],
      drawings: draw(info['symbol']),
    };
  });
  return [...classes, ...others(renderer, draw)];
}

function bounded(infos: readonly Json[], type: string, report: DrawingReport): readonly Json[] {
  if (infos.length <= STYLE_LIMITS.drawingClasses) return infos;
  report.add(
    'RENDERER_PAYLOAD_INCOMPLETE',
    type,
    `Only the first ${STYLE_LIMITS.drawingClasses} classes are drawn.`,
  );
  return infos.slice(0, STYLE_LIMITS.drawingClasses);
}
