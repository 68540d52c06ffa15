import { circlePaint, iconMembers, readDisplacement, readGraphic } from './graphic.js';
import type { SldContext } from './import/context.js';
import {
  members,
  Parameters,
  product,
  readParameterValue,
  readSymbolizerUnit,
  type SldLayerDraft,
} from './import/layer-draft.js';
import { elements, findChild, type XmlElement } from './import/xml.js';
import { rasterDrawings } from './raster.js';
import { strokeDrawings } from './stroke.js';
import { textDrawings } from './text.js';
import type { Expr } from './values.js';

type Reader = (symbolizer: XmlElement, context: SldContext) => SldLayerDraft[];

const READERS: ReadonlyMap<string, Reader> = new Map([
  ['PolygonSymbolizer', polygonDrawings],
  ['LineSymbolizer', lineDrawings],
  ['PointSymbolizer', pointDrawings],
  ['TextSymbolizer', textDrawings],
  ['RasterSymbolizer', rasterDrawings],
]);

export function isSymbolizer(name: string): boolean {
  return name.endsWith('Symbolizer');
}

/** The drawings of a symbolizer, from the lowest to the highest. */
export function readSymbolizerDrawings(symbolizer: XmlElement, context: SldContext): SldLayerDraft[] {
  const read = READERS.get(symbolizer.name);
  if (!read) {
    context.report.error(symbolizer.name, `There is no counterpart of ${symbolizer.name.slice(0, 60)}.`);
    return [];
  }
  const isRaster = context.target.geometryType === 'raster';
  if (isRaster !== (symbolizer.name === 'RasterSymbolizer') && context.target.geometryType !== undefined) {
    context.report.error(
      symbolizer.name,
      `A ${isRaster ? 'raster' : 'vector'} layer cannot be drawn with it.`,
    );
    return [];
  }
  const geometry = findChild(symbolizer, 'Geometry');
  if (geometry && elements(geometry).some(({ name }) => name !== 'PropertyName')) {
    context.report.warn('Geometry', 'The geometry is drawn as it is stored.');
  }
  return read(symbolizer, context);
}

function polygonDrawings(symbolizer: XmlElement, context: SldContext): SldLayerDraft[] {
  const unit = readSymbolizerUnit(symbolizer, context);
  const [fill, stroke] = [findChild(symbolizer, 'Fill'), findChild(symbolizer, 'Stroke')];
  const [x, y] = readDisplacement(findChild(symbolizer, 'Displacement'), context) ?? [];
  const offset = readParameterValue(findChild(symbolizer, 'PerpendicularOffset'), context, 'number');
  const moved = members({ 'fill-translate': x === undefined ? undefined : [x, -y!] });
  if (x !== undefined && stroke) context.report.warn('Displacement', 'The outline is not moved.');
  const filled: SldLayerDraft[] = fill
    ? [{ type: 'fill', paint: { ...fillPaint(fill, context), ...moved } }]
    : [];
  return [...filled, ...(stroke ? strokeDrawings(stroke, context, unit, offset) : [])];
}

function fillPaint(fill: XmlElement, context: SldContext): Record<string, Expr> {
  const graphic = findChild(fill, 'GraphicFill', 'Graphic');
  if (graphic) return hatchPaint(graphic, context);
  const parameters = new Parameters(fill, context);
  return members({
    'fill-color': parameters.get('fill', 'color') ?? '#808080',
    'fill-opacity': parameters.get('fill-opacity', 'number'),
  });
}

/** About the part of an area that a hatching covers. */
const HATCHED = 0.3;

function hatchPaint(graphic: XmlElement, context: SldContext): Record<string, Expr> {
  context.report.warn('GraphicFill', 'Patterns are drawn as a lighter fill of their colour.');
  const shape = readGraphic(graphic, context);
  const lines = shape?.stroke !== undefined && /slash|line|plus|times|dot/.test(wellKnown(graphic));
  const color = lines ? shape.stroke : (shape?.fill ?? shape?.stroke);
  return members({
    'fill-color': color ?? '#808080',
    'fill-opacity': product(shape?.opacity, HATCHED),
  });
}

function wellKnown(graphic: XmlElement): string {
  const name = findChild(graphic, 'Mark', 'WellKnownName');
  return name?.content.filter((part) => typeof part === 'string').join('') ?? '';
}

function lineDrawings(symbolizer: XmlElement, context: SldContext): SldLayerDraft[] {
  const unit = readSymbolizerUnit(symbolizer, context);
  const offset = readParameterValue(findChild(symbolizer, 'PerpendicularOffset'), context, 'number');
  const stroke = findChild(symbolizer, 'Stroke') ?? { name: 'Stroke', attributes: {}, content: [] };
  return strokeDrawings(stroke, context, unit, offset);
}

function pointDrawings(symbolizer: XmlElement, context: SldContext): SldLayerDraft[] {
  const unit = readSymbolizerUnit(symbolizer, context);
  const graphic = readGraphic(findChild(symbolizer, 'Graphic'), context);
  if (!graphic) return [];
  // MapLibre draws circles at each vertex of lines and areas, but symbols once.
  const type = context.target.geometryType;
  const points = type === undefined || type === 'Point' || type === 'MultiPoint';
  if (points && graphic.mark === 'circle' && graphic.anchor === undefined) {
    return [{ type: 'circle', paint: circlePaint(graphic, unit) }];
  }
  return [{ type: 'symbol', ...iconMembers(graphic, unit) }];
}
