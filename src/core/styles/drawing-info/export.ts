import { LAYER_TYPES } from '../layer-types.js';
import type { StyleLayer } from '../model.js';
import type { Expr } from '../sld/values.js';
import { type ExportClass, findClassifier } from './export-classes.js';
import { labelingInfo } from './export-labels.js';
import { createEsriSymbol } from './export-symbols.js';
import { DrawingReport, type UnsupportedSymbolizer } from './report.js';

export interface DrawingExport {
  /** `{renderer, transparency, labelingInfo}`. */
  readonly drawingInfo: Readonly<Record<string, unknown>>;
  readonly unsupported: readonly UnsupportedSymbolizer[];
}

/** Converts layers to a drawingInfo of GeoServices with one renderer. */
export function exportDrawingInfo(layers: readonly StyleLayer[]): DrawingExport {
  const report = new DrawingReport();
  const visible = layers.filter(({ layout }) => layout?.visibility !== 'none');
  for (const { type } of visible) {
    if (!LAYER_TYPES[type].inDrawingInfo)
      report.add('SYMBOL_TYPE_UNSUPPORTED', type, `Layers of type ${type} are left out.`);
  }
  const symbols = visible.filter((layer) => LAYER_TYPES[layer.type].inDrawingInfo && !isLabel(layer));
  const labels = labelingInfo(visible.filter(isLabel), report);
  const renderer = buildRenderer(symbols, report);
  return {
    drawingInfo: { renderer, transparency: 0, labelingInfo: labels.length === 0 ? null : labels },
    unsupported: report.unsupported,
  };
}

/** A symbol layer that has a text and no icon. */
function isLabel(layer: StyleLayer): boolean {
  const layout = layer.layout as Readonly<Record<string, Expr>> | undefined;
  return (
    layer.type === 'symbol' && layout?.['text-field'] !== undefined && layout['icon-image'] === undefined
  );
}

function buildRenderer(layers: readonly StyleLayer[], report: DrawingReport): Record<string, unknown> {
  const classifier = findClassifier(layers, report);
  const symbol = (one: ExportClass | undefined) => (one ? createEsriSymbol(one.layers, report) : null);
  if (!classifier)
    return { type: 'simple', symbol: createEsriSymbol(layers, report), label: '', description: '' };
  const { field, classes, others } = classifier;
  const common = { defaultSymbol: symbol(others), defaultLabel: others ? (others.label ?? '') : null };
  if (classifier.kind === 'values') {
    const uniqueValueInfos = classes.map((one) => {
      const value = String(one.value);
      return { value, label: one.label ?? value, description: '', symbol: symbol(one) };
    });
    return {
      type: 'uniqueValue',
      field1: field,
      field2: null,
      field3: null,
      fieldDelimiter: ',',
      ...common,
      uniqueValueInfos,
    };
  }
  const classBreakInfos = classes.map((one) => {
    const label = one.label ?? String(one.value);
    return { classMaxValue: one.value, label, description: '', symbol: symbol(one) };
  });
  return { type: 'classBreaks', field, minValue: classifier.least, ...common, classBreakInfos };
}
