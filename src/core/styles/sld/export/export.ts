import { convertFilter, type FilterSpecification } from '@maplibre/maplibre-gl-style-spec';
import type { StyleLayer } from '../../model.js';
import { zoomToScale } from '../../zoom.js';
import { SldLayerValues } from '../import/layer-values.js';
import { type SldDiagnostic, SldFailure, SldReport } from '../report.js';
import type { Expr } from '../values.js';
import { filterElement } from './export-filter.js';
import { canExport, reliefOf, writeSymbolizers } from './export-symbolizers.js';
import { Untranslatable } from './untranslatable.js';
import { xml, xmlText } from './xml-writer.js';
import { computeZoomBands, type ZoomBand } from './zoom-bands.js';

export interface SldExport {
  /** SLD 1.1 with SE 1.1. */
  readonly text: string;
  readonly diagnostics: readonly SldDiagnostic[];
}

const NAMESPACES = {
  xmlns: 'http://www.opengis.net/sld',
  'xmlns:se': 'http://www.opengis.net/se',
  'xmlns:ogc': 'http://www.opengis.net/ogc',
  'xmlns:gml': 'http://www.opengis.net/gml',
  'xmlns:xlink': 'http://www.w3.org/1999/xlink',
  'xmlns:xsi': 'http://www.w3.org/2001/XMLSchema-instance',
  'xsi:schemaLocation':
    'http://www.opengis.net/sld http://schemas.opengis.net/sld/1.1.0/StyledLayerDescriptor.xsd',
  version: '1.1.0',
};

/**
 * Converts MapLibre layers to SLD. Each layer is a separate FeatureTypeStyle, because layers are drawn one after the
 * other; consecutive layers with equal conditions share one. @throws SldFailure if no layer can be translated.
 */
export function exportSld(layers: readonly StyleLayer[], name: string): SldExport {
  const report = new SldReport();
  const styles = listGroups(layers.filter((layer) => isWritten(layer, report)))
    .map((group) => featureTypeStyle(group, report))
    .filter((style) => style !== undefined);
  report.ruleName = undefined;
  if (styles.length === 0) throw new SldFailure('layers', 'No layer of the style can be written as SLD.');
  const style = xml('UserStyle', [xmlText('se:Name', name), ...styles]);
  const named = xml('NamedLayer', [xmlText('se:Name', name), style]);
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n${xml('StyledLayerDescriptor', [named], NAMESPACES)}\n`;
  return { text, diagnostics: report.diagnostics };
}

function isWritten(layer: StyleLayer, report: SldReport): boolean {
  if (layer.layout?.visibility === 'none') return false;
  if (canExport(layer.type)) return true;
  report.error(layer.type, `Layers of type ${layer.type} have no counterpart.`);
  return false;
}

/** Layers after each other that draw the same features at the same zooms. */
function listGroups(layers: readonly StyleLayer[]): StyleLayer[][] {
  const groups: StyleLayer[][] = [];
  let last = '';
  for (const layer of layers) {
    const conditions = JSON.stringify([findFilter(layer), layer.minzoom, layer.maxzoom, findTitle(layer)]);
    if (conditions === last) groups.at(-1)!.push(layer);
    else groups.push([layer]);
    last = conditions;
  }
  return groups;
}

function findFilter(layer: StyleLayer): FilterSpecification | undefined {
  return 'filter' in layer ? layer.filter : undefined;
}

function findTitle({ metadata }: StyleLayer): string | undefined {
  const title = (metadata as Record<string, unknown> | undefined)?.['graticule:title'];
  return typeof title === 'string' ? title : undefined;
}

function featureTypeStyle(group: readonly StyleLayer[], report: SldReport): string | undefined {
  const [first] = group;
  const title = findTitle(first!);
  report.ruleName = title ?? first!.id;
  const filter = findFilter(first!);
  let condition: string | undefined;
  try {
    condition =
      filter === undefined || filter === true ? undefined : filterElement(convertFilter(filter) as Expr);
  } catch (error) {
    if (!(error instanceof Untranslatable)) throw error;
    report.error('filter', `The rule was omitted: ${error.message}`);
    return undefined;
  }
  const values = group.flatMap(({ layout, paint }) => Object.values({ ...layout, ...paint }) as Expr[]);
  const bands = computeZoomBands(
    values.filter((value) => !isGround(value)),
    first!.minzoom,
    first!.maxzoom,
  );
  if (bands.length > 1)
    report.warn('zoom', 'Values that change with the zoom are written for ranges of scales.');
  const rules = bands.map((band) => rule(group, band, bands.length > 1, title, condition, report));
  return xml('se:FeatureTypeStyle', rules);
}

/** A width on the ground is written with its unit. */
function isGround(value: Expr): boolean {
  return (
    Array.isArray(value) &&
    JSON.stringify(value[1]) === '["exponential",2]' &&
    value[3] === 0 &&
    value[5] === 24
  );
}

function rule(
  group: readonly StyleLayer[],
  { minzoom, maxzoom, at }: ZoomBand,
  banded: boolean,
  title: string | undefined,
  condition: string | undefined,
  report: SldReport,
): string {
  const symbolizers = withReliefs(group, report).flatMap(({ layer, relief }) =>
    writeSymbolizers(layer.type, new SldLayerValues(layer, banded ? at : undefined, report, relief)),
  );
  return xml('se:Rule', [
    title === undefined ? undefined : xmlText('se:Name', title),
    condition,
    maxzoom === undefined ? undefined : xmlText('se:MinScaleDenominator', scaleText(maxzoom)),
    minzoom === undefined ? undefined : xmlText('se:MaxScaleDenominator', scaleText(minzoom)),
    ...symbolizers,
  ]);
}

/** QGIS reads only integers. */
function scaleText(zoom: number): string {
  return String(Math.round(zoomToScale(zoom)));
}

/** A relief over a raster is a part of its symbolizer. */
function withReliefs(
  group: readonly StyleLayer[],
  report: SldReport,
): { layer: StyleLayer; relief?: string }[] {
  const parts: { layer: StyleLayer; relief?: string }[] = [];
  for (const layer of group) {
    const below = parts.at(-1);
    if (layer.type === 'hillshade' && below?.layer.type === 'raster' && below.relief === undefined) {
      below.relief = reliefOf(new SldLayerValues(layer, undefined, report));
    } else {
      parts.push({ layer });
    }
  }
  return parts;
}
