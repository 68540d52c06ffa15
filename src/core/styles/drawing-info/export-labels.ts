import type { StyleLayer } from '../model.js';
import type { Expr } from '../sld/values.js';
import { zoomToScale } from '../zoom.js';
import { Constants } from './export-symbols.js';
import type { DrawingReport } from './report.js';

/** A label class for each symbol layer whose text joins attributes and texts. */
export function labelingInfo(
  layers: readonly StyleLayer[],
  report: DrawingReport,
): Record<string, unknown>[] {
  return layers.map((layer) => labelClass(layer, report)).filter((one) => one !== undefined);
}

function labelClass(layer: StyleLayer, report: DrawingReport): Record<string, unknown> | undefined {
  const values = new Constants(layer, report);
  const labelExpression = formatExpression(values.raw('text-field') ?? '');
  if (labelExpression === undefined) {
    report.add(
      'RENDERER_PAYLOAD_INCOMPLETE',
      'text-field',
      'Only attributes and strings in sequence are written.',
    );
    return undefined;
  }
  if ('filter' in layer && layer.filter !== undefined) {
    report.add('RENDERER_PAYLOAD_INCOMPLETE', 'labelingInfo', 'The filter of the labels was omitted.');
  }
  const [font = 'Noto Sans Regular'] = (values.raw('text-font') ?? []) as string[];
  const halo = values.points('text-halo-width', 0);
  return {
    labelExpression,
    labelPlacement: formatPlacement(values),
    useCodedValues: true,
    minScale: layer.minzoom === undefined ? 0 : Math.round(zoomToScale(layer.minzoom)),
    maxScale: layer.maxzoom === undefined ? 0 : Math.round(zoomToScale(layer.maxzoom)),
    symbol: {
      type: 'esriTS',
      color: values.color('text-color', 'text-opacity'),
      haloColor: halo === 0 ? null : values.color('text-halo-color', undefined),
      haloSize: halo === 0 ? null : halo,
      angle: -values.number('text-rotate', 0) + 0,
      font: {
        family: String(font).replace(/ (?:Regular|Bold|Italic|Bold Italic)$/, ''),
        size: values.points('text-size', 16),
        style: / Italic/.test(String(font)) ? 'italic' : 'normal',
        weight: / Bold/.test(String(font)) ? 'bold' : 'normal',
        decoration: 'none',
      },
    },
  };
}

function formatExpression(text: Expr): string | undefined {
  if (typeof text === 'string') {
    const parts = text.split(/\{([^{}]+)\}/);
    const named = parts
      .map((part, i) => (i % 2 === 1 ? `[${part}]` : quoted(part)))
      .filter((part) => part !== '""');
    return named.length === 0 ? undefined : named.join(' CONCAT ');
  }
  if (!Array.isArray(text)) return undefined;
  const [operator, ...operands] = text as readonly Expr[];
  if (operator === 'get' && typeof operands[0] === 'string') return `[${operands[0]}]`;
  if (operator === 'to-string') return formatExpression(operands[0]!);
  if (operator !== 'concat') return undefined;
  const parts = operands.map((part) => (typeof part === 'string' ? quoted(part) : formatExpression(part)));
  return parts.some((part) => part === undefined) ? undefined : parts.join(' CONCAT ');
}

function quoted(text: string): string {
  return `"${text.replace(/"/g, "'")}"`;
}

function formatPlacement(values: Constants): string {
  if (values.text('symbol-placement')?.startsWith('line')) return 'esriServerLinePlacementCenterAlong';
  const anchor = values.text('text-anchor') ?? 'center';
  const vertical = anchor.startsWith('bottom') ? 'Above' : anchor.startsWith('top') ? 'Below' : 'Center';
  const horizontal = anchor.endsWith('left') ? 'Right' : anchor.endsWith('right') ? 'Left' : 'Center';
  return `esriServerPointLabelPlacement${vertical}${horizontal}`;
}
