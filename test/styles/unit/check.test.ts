import { describe, expect, it } from 'vitest';
import type { StyleProblem } from '../../../src/core/styles/bounds.js';
import { checkStyle, StyleError, type StyleUse } from '../../../src/core/styles/check.js';

const LAKES: StyleUse = { id: 'lakes', kind: 'vector' };
const DEM: StyleUse = { id: 'dem', kind: 'raster' };

const fill = (paint: object, more: object = {}) => ({ id: 'fill', type: 'fill', paint, ...more });
const style = (...layers: unknown[]) => ({ version: 8, sources: {}, layers });

function problems(document: unknown, use: StyleUse = LAKES): readonly StyleProblem[] {
  try {
    checkStyle(document, use);
  } catch (error) {
    if (error instanceof StyleError) return error.problems;
    throw error;
  }
  return [];
}

/** A value within `depth` arrays, made without recursion. */
function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = ['+', value, 1];
  return value;
}

describe('a style', () => {
  it('draws the collection, whatever source its author named', () => {
    const layer = fill({ 'fill-color': '#abc' }, { source: 'osm', 'source-layer': 'water' });
    const { document, layers } = checkStyle(
      {
        ...style(layer),
        name: 'Lakes',
        sources: { osm: { type: 'vector', url: 'http://10.0.0.1/' } },
        zoom: 3,
      },
      LAKES,
    );
    expect(document).toEqual({
      version: 8,
      name: 'Lakes',
      sources: { collection: { type: 'vector' } },
      layers: [{ ...layer, source: 'collection', 'source-layer': 'lakes' }],
    });
    expect(layers).toEqual([{ id: 'fill', type: 'fill', paint: { 'fill-color': '#abc' } }]);
  });

  it('keeps a background in the document only', () => {
    const background = { id: 'paper', type: 'background', paint: { 'background-color': '#fff' } };
    const { document, layers } = checkStyle(style(background, fill({})), LAKES);
    expect(document.layers).toHaveLength(2);
    expect(document.layers[0]).toEqual(background);
    expect(layers.map(({ id }) => id)).toEqual(['fill']);
  });

  it('is refused with the place of every error', () => {
    const bad = [
      fill({ 'fill-opacity': 'much' }),
      { id: 'line', type: 'line', filter: ['==', ['get', 'a']], paint: { 'line-colour': 'red' } },
    ];
    const found = problems(style(...bad));
    expect(found.map(({ path }) => path).sort()).toEqual([
      '/layers/0/paint/fill-opacity',
      '/layers/1/filter',
      '/layers/1/paint/line-colour',
    ]);
    expect(found[0]!.detail).toContain('number expected');
  });

  it.each([
    [null, ''],
    ['style', ''],
    [[], ''],
    [{ layers: [] }, '/version'],
    [{ version: 8 }, '/layers'],
    [style(null), '/layers/0'],
    [style({ type: 'fill' }), '/layers/0/id'],
    [style(fill({}), fill({})), '/layers/1/id'],
    [style({ id: 'a' }), '/layers/0/type'],
    [style({ id: 'a', type: 'raster' }), '/layers/0/type'],
    [style({ id: 'a', ref: 'b' }), '/layers/0/ref'],
    [style(fill(null as never)), '/layers/0/paint'],
    [{ ...style(), name: 3 }, '/name'],
    [{ ...style(), metadata: [] }, '/metadata'],
  ])('is refused when it is %j', (document, path) => {
    expect(problems(document).map((problem) => problem.path)).toEqual([path]);
  });

  it('has the layer types of its kind of collection', () => {
    const shade = [
      { id: 'a', type: 'raster', paint: { 'raster-opacity': 0.5 } },
      { id: 'b', type: 'hillshade' },
      {
        id: 'c',
        type: 'color-relief',
        paint: { 'color-relief-color': ['interpolate', ['linear'], ['elevation'], 0, '#000', 9, '#fff'] },
      },
    ];
    expect(problems(style(...shade), DEM)).toEqual([]);
    expect(problems(style(fill({})), DEM)[0]!.path).toBe('/layers/0/type');
    for (const type of ['fill', 'line', 'circle', 'symbol', 'heatmap', 'fill-extrusion'])
      expect(problems(style({ id: 'a', type }))).toEqual([]);
  });

  it('may have functions of the older kind', () => {
    const paint = { 'fill-color': { property: 'a', type: 'categorical', stops: [[1, 'red']] } };
    expect(problems(style(fill(paint)))).toEqual([]);
  });

  it('cannot look at the geometry', () => {
    const area = {
      type: 'Polygon',
      coordinates: [
        [
          [0, 0],
          [1, 0],
          [1, 1],
          [0, 0],
        ],
      ],
    };
    const within = fill({}, { filter: ['all', true, ['within', area]] });
    expect(problems(style(within))).toMatchObject([{ path: '/layers/0/filter/2' }]);
    const far = fill({ 'fill-opacity': ['case', ['>', ['distance', area], 5], 1, 0] });
    expect(problems(style(far))).toMatchObject([{ path: '/layers/0/paint/fill-opacity/1/1' }]);
    const labels = fill({ 'fill-opacity': ['match', ['get', 'kind'], ['within', 'distance'], 1, 0] });
    expect(problems(style(labels))).toEqual([]);
  });

  it('has only fonts that there are', () => {
    const label = (font: unknown) => style({ id: 'a', type: 'symbol', layout: { 'text-font': font } });
    expect(problems(label(['Noto Sans Regular']))).toEqual([]);
    expect(problems(label(['Wingdings']))).toEqual([
      { path: '/layers/0/layout/text-font', detail: 'there is no font "Wingdings"' },
    ]);
    const chosen = ['case', ['has', 'big'], ['literal', ['Wingdings']], ['literal', ['Noto Sans Regular']]];
    expect(problems(label(chosen))).toHaveLength(1);
    const stepped = {
      stops: [
        [3, ['Noto Sans Regular']],
        [6, ['Wingdings']],
      ],
    };
    expect(problems(label(stepped))).toHaveLength(1);
  });
});

describe('icons and glyphs of a style', () => {
  const urlProblem = ({ hostname }: URL) => (hostname === 'tiles.example.org' ? undefined : 'is not allowed');
  const use = { ...LAKES, urlProblem };
  const kept = (more: object) => checkStyle({ ...style(), ...more }, use).document;

  it('are those of this server, by whatever name it was called', () => {
    const glyphs = '/ogc/maps/fonts/{fontstack}/{range}.pbf';
    expect(kept({ sprite: '/ogc/maps/sprites/default', glyphs })).toMatchObject({ glyphs });
    expect(kept({ sprite: 'https://maps.example.com/geo/ogc/maps/sprites/default' }).sprite).toBe(
      '/ogc/maps/sprites/default',
    );
    expect(kept({ glyphs: `http://localhost:8080${glyphs}` }).glyphs).toBe(glyphs);
  });

  it('may be of a host that is allowed', () => {
    const sprite = 'https://tiles.example.org/sprite';
    const glyphs = 'https://tiles.example.org/{fontstack}/{range}.pbf';
    expect(kept({ sprite, glyphs })).toMatchObject({ sprite, glyphs });
  });

  it.each([
    ['sprite', 'http://tiles.example.org/sprite'],
    ['sprite', 'https://192.168.0.1/sprite'],
    ['sprite', 'file:///etc/passwd'],
    ['sprite', 'javascript:alert(1)'],
    ['sprite', '/etc/passwd'],
    ['sprite', ['https://tiles.example.org/sprite']],
    ['glyphs', 'https://elsewhere.example/{fontstack}/{range}.pbf'],
    ['glyphs', 'https://tiles.example.org/font.pbf'],
  ])('are refused as %s %j', (name, value) => {
    expect(problems({ ...style(), [name]: value }, use)).toMatchObject([{ path: `/${name}` }]);
  });
});

describe('bounds of a style', () => {
  it('end a million rules before they are looked at', () => {
    const rules = Array.from({ length: 1_000_000 }, (_, i) => i);
    expect(problems(style(fill({ 'fill-opacity': ['match', ['get', 'a'], ...rules, 1] })))).toMatchObject([
      { detail: expect.stringContaining('50000 values') },
    ]);
    expect(problems({ ...style(), layers: Array(1_000_000).fill(fill({})) })).toHaveLength(1);
    expect(
      problems(style(...Array.from({ length: 501 }, (_, i) => ({ ...fill({}), id: `${i}` })))),
    ).toMatchObject([{ path: '/layers', detail: expect.stringContaining('500 layers') }]);
  });

  it('end an expression that is a thousand, or a million, levels deep', () => {
    for (const depth of [70, 1000, 1_000_000]) {
      const [problem] = problems(style(fill({ 'fill-opacity': nested(depth) })));
      expect(problem!.detail).toContain('64 levels');
      expect(problem!.path).toMatch(/^\/layers\/0\/paint\/fill-opacity\/1\/1\//);
      expect(problem!.path.length).toBeLessThan(1000);
    }
    expect(problems(style(fill({ 'fill-opacity': nested(50) })))).toEqual([]);
  });

  it('end a text of megabytes', () => {
    expect(problems({ ...style(), metadata: { a: 'x'.repeat(2_000_000) } })).toMatchObject([
      { path: '/metadata/a', detail: expect.stringContaining('characters') },
    ]);
  });

  it('tell twenty errors at most, shortly', () => {
    const many = Array.from({ length: 40 }, (_, i) => ({ ...fill({ ['x'.repeat(9000)]: 1 }), id: `${i}` }));
    const found = problems(style(...many));
    expect(found).toHaveLength(20);
    for (const { path, detail } of found) expect(path.length + detail.length).toBeLessThan(500);
  });
});
