import { describe, expect, it } from 'vitest';
import {
  formatSample,
  readDrawing,
  tilesInView,
  writeDrawing,
} from '../../src/console/browser/points/sample.js';
import { defaultStyle } from '../../src/core/styles/default-style.js';
import { findPointZoom } from '../../src/core/styles/point-density.js';
import { legendColor, mapLayer } from '../../src/gateway/pages/maps/map-data.js';
import { drawingChoice } from '../../src/gateway/pages/maps/map-frame.js';
import { BASE, HOSTILE, vectorCollection } from './collections.js';

describe('layers of many points', () => {
  const style = defaultStyle('Point', 'trees');
  const many = { id: 'trees', title: 'Trees', featureCount: 200_000, style };

  it('are drawn as cells at low zooms', () => {
    const layer = mapLayer(vectorCollection(many, 'Point'), BASE);
    expect(layer).toMatchObject({ count: 200_000, cells: { preferred: 'cells' } });
    expect((layer as { cells: { tiles: string } }).cells.tiles).toMatch(/\.mlt\?aggregate=cells$/);
    const own = { ...style, version: 3 };
    expect(mapLayer(vectorCollection({ ...many, style: own }, 'Point'), BASE)).toMatchObject({
      cells: { preferred: 'points' },
    });
    expect(mapLayer(vectorCollection(many, 'Polygon'), BASE)).toMatchObject({ cells: null });
    expect(mapLayer(vectorCollection({ ...many, featureCount: 500 }, 'Point'), BASE)).toMatchObject({
      cells: null,
    });
  });

  it('have a choice whose texts are escaped', () => {
    const layer = mapLayer(vectorCollection({ ...many, title: HOSTILE }, 'Point'), BASE);
    expect(String(drawingChoice(layer))).not.toContain('<script');
  });

  it('have points that shrink where they are crowded', () => {
    const extent84 = [-10, 35, 31, 61] as const;
    const zoom = findPointZoom({ count: 200_000, extent84 })!;
    expect(Math.ceil(zoom)).toBe(6);
    expect(findPointZoom({ count: 2_000_000, extent84 })!).toBeGreaterThan(zoom);
    const [halo, point] = defaultStyle('Point', 'trees', { count: 200_000, extent84 }).layers;
    expect(point!.paint).toMatchObject({
      'circle-radius': ['interpolate', ['linear'], ['zoom'], 6, 1.5, 9, 4],
    });
    expect(halo).toMatchObject({
      minzoom: 6,
      paint: { 'circle-radius': ['interpolate', ['linear'], ['zoom'], 6, 1.5, 9, 5] },
    });
    const [ring, few] = defaultStyle('Point', 'trees', { count: 200, extent84 }).layers;
    expect([ring!.paint, few!.paint]).toMatchObject([{ 'circle-radius': 5 }, { 'circle-radius': 4 }]);
    // 1,000 points in one village shrink as well, but are never replaced by cells.
    const village = { count: 1000, extent84: [7.428, 46.942, 7.454, 46.959] } as const;
    expect(findPointZoom(village)).toBeUndefined();
    expect(defaultStyle('Point', 'trees', village).layers[1]!.paint).toMatchObject({
      'circle-radius': ['interpolate', ['linear'], ['zoom'], 13, 2, 16, 4],
    });
  });

  it('are drawn by the browser in the same style as by the server', () => {
    const dense = defaultStyle('Point', 'trees', { count: 200_000, extent84: [-10, 35, 31, 61] });
    const layer = mapLayer(vectorCollection({ ...many, style: dense }, 'Point'), BASE);
    expect(layer).toMatchObject({ style: dense.layers, cells: { preferred: 'cells' } });
    expect(legendColor(layer)).toBe((dense.layers[1]!.paint as Record<string, string>)['circle-color']);
  });
});

describe('a sample', () => {
  const layer = { title: 'Trees', count: 200_000, geometry: 'point' } as const;

  it('is described in words', () => {
    const tiles = [
      { shown: 7800, total: 120_000 },
      { shown: 7812, total: 84_000 },
    ];
    expect(formatSample(layer, tiles, false)).toEqual([
      'A sample of 15,600 of 200,000 points is drawn. Zoom in to see all.',
    ]);
    expect(formatSample(layer, tiles.slice(0, 1), true)).toEqual([
      'Trees: a sample of 7,800 of 120,000 points is drawn. Zoom in to see all.',
    ]);
    expect(formatSample(layer, [], false)).toEqual([]);
  });

  it('is that of the tiles in view', () => {
    const zooms = { minZoom: 0, maxZoom: 16 };
    expect(tilesInView([-180, -85, 179, 85], 0.9, zooms)).toEqual([{ x: 0, y: 0, z: 0 }]);
    expect(tilesInView([1, 1, 80, 60], 2.5, zooms)).toEqual([{ x: 2, y: 1, z: 2 }]);
    expect(tilesInView([170, 1, 190, 10], 1, zooms)).toEqual([
      { x: 1, y: 0, z: 1 },
      { x: 0, y: 0, z: 1 },
    ]);
  });

  it('is a choice that the URL keeps', () => {
    const url = writeDrawing(
      'https://x/y?f=html#map=1/2/3',
      new Map([
        ['a b', 'points'],
        ['c', 'cells'],
      ]),
    );
    expect(url).toBe('https://x/y?f=html#map=1/2/3&drawn=a%20b:points,c:cells');
    expect([...readDrawing(new URL(url).hash)]).toEqual([
      ['a b', 'points'],
      ['c', 'cells'],
    ]);
    expect(writeDrawing(url, new Map())).toBe('https://x/y?f=html#map=1/2/3');
    expect(readDrawing('#drawn=%:points,x:circles').size).toBe(0);
  });
});
