import type { StyleLayer } from '../model.js';
import type { SldLayerDraft } from '../sld/import/layer-draft.js';
import type { Expr } from '../sld/values.js';
import type { DrawingClass } from './classes.js';

/** Properties that may depend on the feature: classes that differ only in these are drawn by one layer. */
const BY_FEATURE =
  /^(?:(?:fill|line|circle|circle-stroke|icon|icon-halo)-(?:color|opacity)|line-width|circle-radius|(?:circle-stroke|icon-halo)-width|icon-(?:image|size|rotate))$/;

/** Layers of classes: one for each part of the symbols where they are alike, else one for each class and part. */
export function mergeClassLayers(classes: readonly DrawingClass[]): StyleLayer[] {
  const visible = classes.filter(({ drawings }) => drawings.length > 0);
  const [first] = visible;
  if (!first) return [];
  const alike = visible.every((one) => sameShape(one.drawings, first.drawings));
  if (alike && visible.length === classes.length && visible.length > 1) return merged(visible, first);
  const conditions = classes.map(({ condition }) => condition).filter((condition) => condition !== undefined);
  return visible.flatMap(({ condition, drawings, label }, i) => {
    const others: Expr | undefined = conditions.length === 0 ? undefined : ['!', ['any', ...conditions]];
    return drawings.map((drawing, j) =>
      layer(`class-${i + 1}-${j + 1}`, drawing, condition ?? others, label),
    );
  });
}

function sameShape(a: readonly SldLayerDraft[], b: readonly SldLayerDraft[]): boolean {
  return a.length === b.length && a.every((drawing, i) => formatShape(drawing) === formatShape(b[i]!));
}

/** Returns as text the properties that must be equal so that drawings can be merged into one layer. */
function formatShape({ type, paint, layout = {}, metadata }: SldLayerDraft): string {
  const fixed = Object.entries({ ...paint, ...layout }).map(([name, value]) =>
    BY_FEATURE.test(name) ? name : `${name}=${JSON.stringify(value)}`,
  );
  return [type, ...fixed, JSON.stringify(metadata ?? '')].join(' ');
}

/** Each property that differs chooses by the classes' conditions. */
function merged(classes: readonly DrawingClass[], first: DrawingClass): StyleLayer[] {
  const rest = classes.find(({ condition }) => condition === undefined);
  const conditional = classes.filter(({ condition }) => condition !== undefined);
  const filter: Expr | undefined = rest
    ? undefined
    : ['any', ...conditional.map(({ condition }) => condition!)];
  return first.drawings.map((drawing, i) => {
    const choose = (part: 'paint' | 'layout', name: string): Expr => {
      const drawnBy = (one: DrawingClass) => one.drawings[i]![part]![name]!;
      const last = drawnBy(rest ?? conditional.at(-1)!);
      const cases = (rest ? conditional : conditional.slice(0, -1)).filter(
        (one) => JSON.stringify(drawnBy(one)) !== JSON.stringify(last),
      );
      return cases.length === 0
        ? last
        : ['case', ...cases.flatMap((one) => [one.condition!, drawnBy(one)]), last];
    };
    const mapped = (part: 'paint' | 'layout') =>
      Object.fromEntries(Object.keys(drawing[part] ?? {}).map((name) => [name, choose(part, name)]));
    return layer(
      `classes-${i + 1}`,
      { ...drawing, paint: mapped('paint'), layout: mapped('layout') },
      filter,
      undefined,
    );
  });
}

function layer(
  id: string,
  drawing: SldLayerDraft,
  filter: Expr | undefined,
  title: string | undefined,
): StyleLayer {
  const { type, paint, layout = {}, metadata = {} } = drawing;
  const about = { ...(title === undefined ? {} : { 'graticule:title': title }), ...metadata };
  return {
    id,
    type,
    ...(filter === undefined ? {} : { filter }),
    ...(Object.keys(layout).length === 0 ? {} : { layout }),
    paint,
    ...(Object.keys(about).length === 0 ? {} : { metadata: about }),
  } as unknown as StyleLayer;
}
