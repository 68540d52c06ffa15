import type { GeometryType } from '../../sources/vector-source.js';
import { circlesWithHalo } from '../circles.js';
import { listIntegerTexts } from '../integer-texts.js';
import type { StyleLayer } from '../model.js';
import type { Expr } from '../sld/values.js';
import { type Classes, OTHER_COLOR } from './classes.js';

/** Layers that colour features by their classes; those of none are gray. */
export function classLayers(geometryType: GeometryType, field: string, classes: Classes): StyleLayer[] {
  const color = colorBy(field, classes);
  if (geometryType.endsWith('Point')) return circlesWithHalo(color, { radius: 5 });
  if (geometryType.endsWith('LineString')) return [lines(color)];
  if (geometryType.endsWith('Polygon')) return areas(color);
  const only = (type: string, layer: StyleLayer): StyleLayer =>
    ({ ...layer, filter: ['==', ['geometry-type'], type] }) as StyleLayer;
  return [
    ...areas(color).map((layer) => only('Polygon', layer)),
    only('LineString', lines(color)),
    ...circlesWithHalo(color, { radius: 5 }).map((layer) => only('Point', layer)),
  ];
}

function colorBy(field: string, { breaks, entries }: Classes): Expr {
  const value: Expr = ['get', field];
  const [first, ...rest] = entries;
  if (!breaks) {
    return [
      'match',
      ['to-string', value],
      ...entries.flatMap(({ label, color }) => [buildLabels(label, entries), color]),
      OTHER_COLOR,
    ];
  }
  // A single class has no limits.
  const classed: Expr =
    rest.length === 0
      ? first!.color
      : ['step', value, first!.color, ...rest.flatMap(({ color }, i) => [breaks[i]!, color])];
  return ['case', ['==', ['typeof', value], 'number'], classed, OTHER_COLOR];
}

/** A value as clients may compare it; of values that are one double the first has that one. */
function buildLabels(label: string, entries: Classes['entries']): Expr {
  const [digits, rounded] = listIntegerTexts(label);
  if (rounded === undefined) return digits!;
  const first = entries.find((one) => one.label === rounded || listIntegerTexts(one.label)[1] === rounded);
  return first?.label === label ? [digits!, rounded] : digits!;
}

function areas(color: Expr): StyleLayer[] {
  return [
    { id: 'fill', type: 'fill', paint: { 'fill-color': color, 'fill-opacity': 0.8 } },
    { id: 'outline', type: 'line', paint: { 'line-color': '#ffffff', 'line-width': 0.6 } },
  ] as unknown as StyleLayer[];
}

function lines(color: Expr): StyleLayer {
  return {
    id: 'line',
    type: 'line',
    layout: { 'line-cap': 'round', 'line-join': 'round' },
    paint: { 'line-color': color, 'line-width': 2 },
  } as unknown as StyleLayer;
}
