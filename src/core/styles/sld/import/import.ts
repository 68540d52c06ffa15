import { STYLE_LIMITS } from '../../limits.js';
import type { StyleLayer } from '../../model.js';
import { sldContext } from '../expression.js';
import { type SldDiagnostic, SldFailure, SldReport, type SldVersion } from '../report.js';
import { isSymbolizer, readSymbolizerDrawings } from '../symbolizers.js';
import type { Expr } from '../values.js';
import type { SldContext, SldTarget } from './context.js';
import { checkedLayers } from './layer-check.js';
import { readRules, type SldRule } from './rules.js';
import { all, elements, findChild, parseSldXml, readTextContent, type XmlElement } from './xml.js';

export interface SldImport {
  readonly detectedVersion: SldVersion;
  /** Title or name of the style. */
  readonly name: string | undefined;
  /** Named and user layers of the text; only the styles of the first that has any are read. */
  readonly layerCount: number;
  /** From the lowest to the highest. */
  readonly layers: readonly StyleLayer[];
  readonly diagnostics: readonly SldDiagnostic[];
}

/**
 * Parses SLD 1.0, or SLD 1.1 with SE 1.1. Losses are in the diagnostics. @throws SldFailure if no part can be read or
 * drawn.
 */
export function importSld(text: string, target: SldTarget = {}): SldImport {
  const root = parseSldXml(text);
  const detectedVersion = readVersion(root);
  const report = new SldReport();
  try {
    const { style, layerCount } = parseStyle(root, report);
    const layers = new LayerWriter(sldContext(target, report)).layersOf(style);
    report.ruleName = undefined;
    if (layers.length === 0) report.error('Rule', 'Nothing of the style can be drawn.');
    const name = [
      findChild(style, 'Title'),
      findChild(style, 'Description', 'Title'),
      findChild(style, 'Name'),
    ]
      .map(readTextContent)
      .find((one) => one !== undefined);
    return {
      detectedVersion,
      name: name?.slice(0, 200),
      layerCount,
      layers,
      diagnostics: report.diagnostics,
    };
  } catch (error) {
    if (error instanceof SldFailure) throw new SldFailure(error.construct, error.message, detectedVersion);
    throw error;
  }
}

function readVersion(root: XmlElement): SldVersion {
  const { version } = root.attributes;
  if (version !== undefined) return version.startsWith('1.0') ? 'Sld10' : 'Sld11';
  return findChild(root, 'NamedLayer', 'Name') ? 'Sld10' : 'Sld11';
}

/** Default style of the first layer that has one, or a single style or FeatureTypeStyle. */
function parseStyle(root: XmlElement, report: SldReport): { style: XmlElement; layerCount: number } {
  if (root.name === 'UserStyle') return { style: root, layerCount: 1 };
  if (root.name === 'FeatureTypeStyle' || root.name === 'CoverageStyle') {
    return { style: { name: 'UserStyle', attributes: {}, content: [root] }, layerCount: 1 };
  }
  if (root.name !== 'StyledLayerDescriptor') {
    throw new SldFailure(root.name.slice(0, 80), 'The root element is not StyledLayerDescriptor.');
  }
  const layers = elements(root).filter(({ name }) => name === 'NamedLayer' || name === 'UserLayer');
  const styled = layers.map((layer) => all(layer, 'UserStyle')).filter((styles) => styles.length > 0);
  const [styles] = styled;
  if (!styles) throw new SldFailure('UserStyle', 'No layer has a UserStyle.');
  if (styled.length > 1) report.warn('NamedLayer', 'Only the style of the first layer is read.');
  if (styles.length > 1) report.warn('UserStyle', 'Only one style of the layer is read.');
  const preferred = styles.find((style) =>
    /^(?:1|true)$/.test(readTextContent(findChild(style, 'IsDefault')) ?? ''),
  );
  return { style: preferred ?? styles[0]!, layerCount: layers.length };
}

/** Writes layers, and counts what it writes: an author's text must not become much larger. */
class LayerWriter {
  readonly #layers: StyleLayer[] = [];
  #bytes = 0;
  #rules = 0;

  constructor(readonly context: SldContext) {}

  layersOf(style: XmlElement): StyleLayer[] {
    for (const featureTypeStyle of elements(style).filter(isFeatureTypeStyle)) {
      const vendor =
        all(featureTypeStyle, 'VendorOption').length + all(featureTypeStyle, 'Transformation').length;
      if (vendor > 0) this.context.report.warn('VendorOption', 'Options of a FeatureTypeStyle are left out.');
      for (const rule of readRules(featureTypeStyle, this.context)) this.#write(rule);
    }
    this.context.report.ruleName = undefined;
    return checkedLayers(this.#layers, this.context.report);
  }

  #write(rule: SldRule): void {
    if (++this.#rules > STYLE_LIMITS.sldRules) {
      throw new SldFailure('Rule', `There are more than ${STYLE_LIMITS.sldRules} rules.`);
    }
    const { report } = this.context;
    report.ruleName = rule.name;
    const symbolizers = elements(rule.element).filter(({ name }) => isSymbolizer(name));
    if (symbolizers.length === 0) report.warn('Rule', 'The rule has no symbolizer.');
    for (const symbolizer of symbolizers) this.#writeSymbolizer(rule, symbolizer);
  }

  #writeSymbolizer(rule: SldRule, symbolizer: XmlElement): void {
    for (const { type, paint, layout = {}, metadata = {} } of readSymbolizerDrawings(
      symbolizer,
      this.context,
    )) {
      const filter = filterFor(symbolizer, type, rule.filter, this.context);
      const layer = {
        id: `rule-${this.#rules}-${type}-${this.#layers.length + 1}`,
        type,
        ...(rule.minzoom === undefined ? {} : { minzoom: rule.minzoom }),
        ...(rule.maxzoom === undefined ? {} : { maxzoom: rule.maxzoom }),
        ...(filter === undefined ? {} : { filter }),
        ...(Object.keys(layout).length === 0 ? {} : { layout }),
        paint,
        ...(rule.name === undefined && Object.keys(metadata).length === 0
          ? {}
          : {
              metadata: { ...(rule.name === undefined ? {} : { 'graticule:title': rule.name }), ...metadata },
            }),
      };
      this.#bytes += JSON.stringify(layer).length;
      if (this.#bytes > STYLE_LIMITS.sldStyleBytes || this.#layers.length >= STYLE_LIMITS.styleLayers) {
        throw new SldFailure('StyledLayerDescriptor', 'The style becomes too large.');
      }
      this.#layers.push(layer as unknown as StyleLayer);
    }
  }
}

function isFeatureTypeStyle({ name }: XmlElement): boolean {
  return name === 'FeatureTypeStyle' || name === 'CoverageStyle';
}

/** In layers of mixed geometries, a polygon symbolizer draws only polygons. */
function filterFor(
  { name }: XmlElement,
  type: string,
  filter: Expr | undefined,
  { target: { geometryType } }: SldContext,
): Expr | undefined {
  const mixed = geometryType === 'Geometry' || geometryType === 'GeometryCollection';
  if (!mixed || name !== 'PolygonSymbolizer' || type !== 'line') return filter;
  const areas: Expr = ['==', ['geometry-type'], 'Polygon'];
  return filter === undefined ? areas : ['all', areas, filter];
}
