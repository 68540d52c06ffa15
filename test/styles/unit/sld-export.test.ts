import { describe, expect, it } from 'vitest';
import { defaultStyle } from '../../../src/core/styles/default-style.js';
import type { StyleLayer } from '../../../src/core/styles/model.js';
import { exportSld } from '../../../src/core/styles/sld/export/export.js';
import type { SldTarget } from '../../../src/core/styles/sld/import/context.js';
import { importSld } from '../../../src/core/styles/sld/import/import.js';
import { SldFailure } from '../../../src/core/styles/sld/report.js';
import { suggestStyle } from '../../../src/core/styles/suggest/suggest.js';
import { fixture, importRule, ruleOf } from '../support.js';

/** What draws: all but the names of layers. */
function drawn(layers: readonly StyleLayer[]): unknown[] {
  return layers.map(({ id: _, ...layer }) => layer);
}

function again(layers: readonly StyleLayer[], target: SldTarget = {}) {
  const { text, diagnostics } = exportSld(layers, 'a & b');
  return { layers: importSld(text, target).layers, diagnostics, text };
}

describe('a style that was read is written and read again', () => {
  it.each([
    ['geoserver-roads-1.0.sld', {}],
    ['qgis-points-1.1.sld', { geometryType: 'Point' }],
    ['geoserver-dem-1.0.sld', { geometryType: 'raster' }],
    ['se-classes-1.1.sld', { geometryType: 'Polygon' }],
    ['qgis-categories.sld', { geometryType: 'Polygon' }],
    ['qgis-graduated.sld', { geometryType: 'LineString' }],
    ['qgis-rules.sld', { geometryType: 'Point' }],
  ] as [string, SldTarget][])('%s', (name, target) => {
    const { layers } = importSld(fixture(name), target);
    const second = again(layers, target);
    expect(drawn(second.layers)).toEqual(drawn(layers));
    expect(second.diagnostics).toEqual([]);
  });

  const property = (name: string) => `<ogc:PropertyName>${name}</ogc:PropertyName>`;
  const literal = (text: string) => `<ogc:Literal>${text}</ogc:Literal>`;
  const binary = (name: string, a: string, b: string) => `<ogc:${name}>${a}${b}</ogc:${name}>`;
  const like = (pattern: string) =>
    `<ogc:PropertyIsLike wildCard="*" singleChar="?" escape="!">${property('n')}${literal(pattern)}</ogc:PropertyIsLike>`;

  it.each([
    binary('PropertyIsEqualTo', property('a'), literal('5')),
    binary('PropertyIsNotEqualTo', property('a'), literal('x')),
    binary('PropertyIsGreaterThan', property('a'), literal('5')),
    `<ogc:PropertyIsNull>${property('a')}</ogc:PropertyIsNull>`,
    `<ogc:Not><ogc:PropertyIsNull>${property('a')}</ogc:PropertyIsNull></ogc:Not>`,
    like('x*'),
    like('*x'),
    like('*x!*y*'),
    like('x*y*z'),
    like('*x*y*'),
    '<ogc:FeatureId fid="7"/><ogc:FeatureId fid="8"/>',
    binary('Or', binary('PropertyIsEqualTo', property('a'), literal('b')), like('*x')),
    binary(
      'PropertyIsEqualTo',
      `<ogc:Function name="strToUpperCase">${property('a')}</ogc:Function>`,
      literal('B'),
    ),
  ])('filter %s', (filter) => {
    const { layers } = importRule(
      `<ogc:Filter>${filter}</ogc:Filter><LineSymbolizer><Stroke/></LineSymbolizer>`,
    );
    expect(layers).toHaveLength(1);
    const second = again(layers);
    expect(drawn(second.layers)).toEqual(drawn(layers));
    expect(second.diagnostics).toEqual([]);
  });

  it('whole zooms', () => {
    const layers = Array.from({ length: 23 }, (_, zoom) => {
      return { id: `z${zoom}`, type: 'line', minzoom: zoom + 1, maxzoom: zoom + 2, paint: {} };
    }) as unknown as StyleLayer[];
    const zooms = again(layers).layers.map(({ minzoom, maxzoom }) => [minzoom, maxzoom]);
    // Nothing is drawn beyond zoom 24.
    expect(zooms).toEqual(
      layers.map(({ minzoom, maxzoom }) => [minzoom, maxzoom === 24 ? undefined : maxzoom]),
    );
  });

  it('a box for points', () => {
    const box = `<ogc:BBOX>${property('g')}<Envelope><lowerCorner>1 2</lowerCorner><upperCorner>3 4</upperCorner></Envelope></ogc:BBOX>`;
    const target = { geometryType: 'Point' } as const;
    const { layers } = importSld(ruleOf(`<ogc:Filter>${box}</ogc:Filter><PointSymbolizer/>`), target);
    expect(drawn(again(layers, target).layers)).toEqual(drawn(layers));
  });
});

describe('styles of MapLibre', () => {
  it('have values in ranges of scales where they change with the zoom', () => {
    const { layers, diagnostics } = again(defaultStyle('Polygon', 'x').layers, { geometryType: 'Polygon' });
    expect(diagnostics.map(({ construct }) => construct)).toContain('zoom');
    const widths = layers
      .filter(({ type }) => type === 'line')
      .map(({ paint, minzoom, maxzoom }) => [
        minzoom,
        maxzoom,
        (paint as Record<string, number>)['line-width'],
      ]);
    expect(widths[0]).toEqual([undefined, 1, 0.46]);
    expect(widths.at(-1)).toEqual([5, undefined, 1]);
  });

  it('that were suggested lose nothing', () => {
    const values = Array.from({ length: 50 }, (_, i) => (i % 7 === 0 ? null : i * i));
    for (const [type, sample] of [
      ['integer', values],
      ['string', values.map((_, i) => 'abc'[i % 3])],
    ] as const) {
      const samples = [{ field: { name: 'a', type }, values: sample }];
      const { layers } = suggestStyle(samples, 'Polygon', { classCount: 5 });
      const second = again(layers);
      expect(second.diagnostics).toEqual([]);
      expect(drawn(second.layers)).toEqual(drawn(layers));
    }
  });

  it('have older filters and names in braces', () => {
    const layer = {
      id: 'a',
      type: 'symbol',
      filter: ['all', ['==', 'class', 'city'], ['!in', 'rank', 1, 2], ['has', 'name']],
      layout: { 'text-field': '{name} ({code})', 'text-size': 12 },
      paint: {},
    } as unknown as StyleLayer;
    const { layers, diagnostics } = again([layer]);
    expect(diagnostics).toEqual([]);
    expect(layers[0]).toMatchObject({
      layout: {
        'text-field': ['concat', ['to-string', ['get', 'name']], ' (', ['to-string', ['get', 'code']], ')'],
      },
    });
    expect(JSON.stringify(layers[0])).toContain('"city"');
  });

  it('tell of what is lost, and fail when nothing is left', () => {
    const heat = { id: 'heat', type: 'heatmap', paint: {} } as StyleLayer;
    const line = {
      id: 'line',
      type: 'line',
      paint: { 'line-blur': 2, 'line-color': ['hsl', 1, 2, 3] },
    } as unknown as StyleLayer;
    const { diagnostics } = exportSld([heat, line], 'x');
    expect(diagnostics.map(({ severity, construct }) => `${severity} ${construct}`)).toEqual([
      'Error heatmap',
      'Warning line-blur',
      'Warning line-color',
    ]);
    expect(() => exportSld([heat], 'x')).toThrow(SldFailure);
  });

  it('have names that are escaped', () => {
    const line = {
      id: '"<&>',
      type: 'line',
      paint: {},
      metadata: { 'graticule:title': '</x>\u0000&' },
    } as StyleLayer;
    const { text } = exportSld([line], '<b>');
    expect(importSld(text).layers[0]).toMatchObject({ metadata: { 'graticule:title': '</x>&' } });
  });
});
