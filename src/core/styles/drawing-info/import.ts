import type { StyleLayer } from '../model.js';
import { sldContext } from '../sld/expression.js';
import type { SldTarget } from '../sld/import/context.js';
import { checkedLayers } from '../sld/import/layer-check.js';
import { SldReport } from '../sld/report.js';
import { readDrawingClasses } from './classes.js';
import { readJsonNumber, record } from './json.js';
import { createLabelLayers } from './labels.js';
import { mergeClassLayers } from './merge.js';
import { DrawingReport, type UnsupportedSymbolizer } from './report.js';

export interface DrawingImport {
  readonly layers: readonly StyleLayer[];
  readonly unsupported: readonly UnsupportedSymbolizer[];
}

/** Parses a drawingInfo of GeoServices. Parts that cannot be drawn are reported, never thrown. */
export function importDrawingInfo(info: unknown, target: SldTarget = {}): DrawingImport {
  const document = record(info) ?? {};
  const report = new DrawingReport();
  const context = sldContext(target, new SldReport());
  const transparency = Math.min(100, Math.max(0, readJsonNumber(document['transparency']) ?? 0));
  const classes = readDrawingClasses(record(document['renderer']), 1 - transparency / 100, report, context);
  const layers = [...mergeClassLayers(classes), ...createLabelLayers(document, report, context)];
  const checks = new SldReport();
  const style = checkedLayers(layers, checks);
  for (const { construct, message } of checks.diagnostics)
    report.add('RENDERER_PAYLOAD_INCOMPLETE', construct, message);
  return { layers: style, unsupported: report.unsupported };
}
