import { createPropertyExpression, latest } from '@maplibre/maplibre-gl-style-spec';
import { describe, expect, it } from 'vitest';
import { defaultStyle } from '../../../src/core/styles/default-style.js';
import { exportDrawingInfo } from '../../../src/core/styles/drawing-info/export.js';
import { importDrawingInfo } from '../../../src/core/styles/drawing-info/import.js';
import { readDigits } from '../../../src/core/styles/integer-texts.js';
import type { StyleLayer } from '../../../src/core/styles/model.js';
import { exactNumber } from '../../../src/core/values/exact-number.js';

const outline = { type: 'esriSLS', style: 'esriSLSSolid', color: [110, 110, 110, 255], width: 0.75 };
const area = (color: number[]) => ({ type: 'esriSFS', style: 'esriSFSSolid', color, outline });

/** A value of a paint property for a feature, as the style specification's own code evaluates it. */
function valueFor(layer: StyleLayer, name: string, properties: object): unknown {
  const value = (layer.paint as Record<string, unknown>)[name];
  const group = `paint_${layer.type}` as keyof typeof latest;
  const made = createPropertyExpression(value, `layers[0].paint.${name}`, (latest[group] as never)[name]);
  if (made.result === 'error') throw new Error(JSON.stringify(made.value));
  return String(made.value.evaluate({ zoom: 5 } as never, { type: 3, properties } as never));
}

it('gives a class of an integer beyond 2^53 its double for clients, and no other value for maps of the server', () => {
  const [value, double] = ['9007199254740993', '9007199254740992'];
  const infos = [{ value, symbol: area([255, 0, 0, 255]) }];
  const defaultSymbol = area([0, 0, 255, 255]);
  const renderer = { type: 'uniqueValue', field1: 'b', uniqueValueInfos: infos, defaultSymbol };
  const made = importDrawingInfo({ renderer });
  expect(JSON.stringify(made.layers)).toContain(double);
  const drawn = JSON.stringify(readDigits(made.layers));
  expect([drawn.includes(value), drawn.includes(double)]).toEqual([true, false]);
  expect(exportDrawingInfo(made.layers).drawingInfo).toMatchObject({
    renderer: { uniqueValueInfos: [{ value }] },
  });

  const several = { ...renderer, field2: 'c', uniqueValueInfos: [{ ...infos[0], value: `${value},x` }] };
  const joined = importDrawingInfo({ renderer: several });
  expect(JSON.stringify(joined.layers)).toContain(`${double},x`);
  expect(JSON.stringify(readDigits(joined.layers))).not.toContain(double);
  // A condition of somebody's own stays as it is.
  const own = ['any', ['==', ['get', 'b'], 'a'], ['==', ['get', 'b'], ['literal', 'b']]];
  expect(readDigits(own)).toEqual(own);
});

describe('a drawingInfo that is read', () => {
  it('draws simple symbols with points as pixels', () => {
    const point = {
      type: 'esriSMS',
      style: 'esriSMSCircle',
      color: [255, 0, 0, 128],
      size: 9,
      outline: { color: [0, 0, 0, 255], width: 1.5 },
    };
    const { layers, unsupported } = importDrawingInfo({
      renderer: { type: 'simple', symbol: point },
      transparency: 50,
    });
    expect(unsupported).toEqual([]);
    expect(layers).toEqual([
      {
        id: 'class-1-1',
        type: 'circle',
        paint: {
          'circle-color': 'rgba(255,0,0,0.251)',
          'circle-radius': 6,
          'circle-stroke-color': 'rgba(0,0,0,0.5)',
          'circle-stroke-width': 2,
        },
      },
    ]);
  });

  it('keeps all digits of unique values', () => {
    const values = ['1152921504606846977', '1152921504606846979'];
    const uniqueValueInfos = values.map((digits) => ({
      value: exactNumber(digits),
      symbol: area([255, 0, 0, 255]),
    }));
    const { layers } = importDrawingInfo({
      renderer: { type: 'uniqueValue', field1: 'sid', uniqueValueInfos },
    });
    for (const value of values) expect(JSON.stringify(layers)).toContain(`"${value}"`);
  });

  it('draws unique values of alike symbols in one layer each', () => {
    const uniqueValueInfos = [
      { value: 'A', label: 'First', symbol: area([255, 0, 0, 255]) },
      { value: 'B', label: 'Second', symbol: area([0, 255, 0, 255]) },
    ];
    const renderer = {
      type: 'uniqueValue',
      field1: 'code',
      defaultSymbol: area([0, 0, 255, 255]),
      uniqueValueInfos,
    };
    const { layers } = importDrawingInfo({ renderer });
    expect(layers.map(({ type }) => type)).toEqual(['fill', 'line']);
    const colors = ['A', 'B', 'C', null].map((code) => valueFor(layers[0]!, 'fill-color', { code }));
    expect(colors).toEqual(['rgba(255,0,0,1)', 'rgba(0,255,0,1)', 'rgba(0,0,255,1)', 'rgba(0,0,255,1)']);
    expect(layers[1]!.paint).toMatchObject({ 'line-color': '#6e6e6e', 'line-width': 1 });
  });

  it('puts the greatest value of a class into the class', () => {
    const classBreakInfos = [
      { classMaxValue: 10, label: 'few', symbol: area([255, 0, 0, 255]) },
      { classMaxValue: 20, label: 'many', symbol: area([0, 255, 0, 255]) },
    ];
    const renderer = {
      type: 'classBreaks',
      field: 'N',
      minValue: 0,
      defaultSymbol: area([0, 0, 255, 255]),
      classBreakInfos,
    };
    const { layers } = importDrawingInfo({ renderer }, { fields: [{ name: 'n', type: 'integer' }] });
    const colors = [0, 10, 10.5, 20, 21, -1, null].map((n) => valueFor(layers[0]!, 'fill-color', { n }));
    const [red, green, blue] = ['rgba(255,0,0,1)', 'rgba(0,255,0,1)', 'rgba(0,0,255,1)'];
    expect(colors).toEqual([red, red, green, green, blue, blue, blue]);
  });

  it('draws labels of attributes and texts', () => {
    const symbol = {
      type: 'esriTS',
      color: [1, 2, 3, 255],
      haloColor: [255, 255, 255, 255],
      haloSize: 0.75,
      font: { size: 9, weight: 'bold' },
    };
    const info = {
      labelExpression: '[NAME] CONCAT " (" CONCAT [CODE] CONCAT ")"',
      labelPlacement: 'esriServerPointLabelPlacementAboveRight',
      minScale: 279541132,
      symbol,
    };
    const { layers } = importDrawingInfo({
      renderer: { type: 'simple', symbol: area([1, 1, 1, 255]) },
      labelingInfo: [info],
    });
    expect(layers.at(-1)).toMatchObject({
      type: 'symbol',
      layout: {
        'text-field': ['concat', ['to-string', ['get', 'NAME']], ' (', ['to-string', ['get', 'CODE']], ')'],
        'text-font': ['Noto Sans Bold'],
        'text-size': 12,
        'text-anchor': 'bottom-left',
      },
      paint: { 'text-color': '#010203', 'text-halo-width': 1 },
    });
  });

  it('tells of what it cannot draw', () => {
    const codes = (renderer: unknown) =>
      importDrawingInfo({ renderer }).unsupported.map(
        ({ code, symbolizerType }) => `${code} ${symbolizerType}`,
      );
    expect(codes({ type: 'heatmap' })).toEqual(['RENDERER_TYPE_UNSUPPORTED heatmap']);
    expect(codes({ type: 'simple', symbol: { type: 'CIMSymbolReference' } })).toEqual([
      'SYMBOL_TYPE_UNSUPPORTED CIMSymbolReference',
    ]);
    expect(codes({ type: 'simple', symbol: { type: 'esriPMS', url: 'http://e.org/a.png' } })).toEqual([
      'PICTURE_MARKER_PARTIAL esriPMS',
    ]);
    expect(codes({ type: 'uniqueValue' })).toEqual(['RENDERER_PAYLOAD_INCOMPLETE uniqueValue']);
    const classBreakInfos = [{ classMaxValue: 2 ** 60, symbol: area([0, 0, 0, 255]) }];
    expect(codes({ type: 'classBreaks', field: 'sid', classBreakInfos })).toEqual([
      'RENDERER_PAYLOAD_INCOMPLETE classMaxValue',
    ]);
    expect(
      codes({ type: 'simple', symbol: area([0, 0, 0, 255]), visualVariables: [{ type: 'sizeInfo' }] }),
    ).toEqual(['RENDERER_TYPE_UNSUPPORTED visualVariables sizeInfo']);
    expect(codes(undefined)).toEqual(['RENDERER_PAYLOAD_INCOMPLETE renderer']);
  });

  it('is never more than a finding, whatever it holds', () => {
    const strange = [
      null,
      1,
      'x',
      [],
      {},
      true,
      { type: 'simple' },
      { type: 'esriSMS', size: -5, color: ['a'] },
      area([]),
      area([999, -1, 0, 0]),
    ];
    for (const a of strange) {
      for (const b of strange) {
        const infos = [
          { value: a, classMaxValue: b, symbol: a },
          { value: b, classMaxValue: 5, symbol: b },
        ];
        for (const type of ['simple', 'uniqueValue', 'classBreaks']) {
          const renderer = {
            type,
            field: 'a',
            field1: 'b',
            symbol: a,
            defaultSymbol: b,
            uniqueValueInfos: infos,
            classBreakInfos: infos,
          };
          const { unsupported } = importDrawingInfo({
            renderer,
            labelingInfo: [a, { symbol: b, labelExpression: a }],
          });
          expect(Array.isArray(unsupported)).toBe(true);
        }
      }
    }
  });
});

describe('a drawingInfo that is written', () => {
  const round = (info: Record<string, unknown>) => exportDrawingInfo(importDrawingInfo(info).layers);

  it('is the one that was read', () => {
    const uniqueValueInfos = [
      { value: 'A', label: 'A', description: '', symbol: area([255, 0, 0, 255]) },
      { value: 'B', label: 'B', description: '', symbol: area([0, 255, 0, 128]) },
    ];
    const common = { defaultSymbol: area([0, 0, 255, 255]), defaultLabel: '' };
    const values = {
      type: 'uniqueValue',
      field1: 'code',
      field2: null,
      field3: null,
      fieldDelimiter: ',',
      ...common,
      uniqueValueInfos,
    };
    expect(round({ renderer: values })).toEqual({
      drawingInfo: { renderer: values, transparency: 0, labelingInfo: null },
      unsupported: [],
    });
    const line = { type: 'esriSLS', style: 'esriSLSDash', color: [1, 2, 3, 255], width: 1.5 };
    const simple = { type: 'simple', symbol: line, label: '', description: '' };
    expect(round({ renderer: simple }).drawingInfo.renderer).toEqual(simple);
    const mark = {
      type: 'esriSMS',
      style: 'esriSMSSquare',
      color: [1, 2, 3, 255],
      size: 12,
      angle: 45,
      xoffset: 3,
      yoffset: -6,
      outline: { color: [0, 0, 0, 255], width: 0.75 },
    };
    expect(round({ renderer: { ...simple, symbol: mark } }).drawingInfo.renderer).toEqual({
      ...simple,
      symbol: mark,
    });
  });

  it('has the bounds and the symbol of all others of classes that were read', () => {
    const classBreakInfos = [
      { classMaxValue: 10, symbol: area([255, 0, 0, 255]) },
      { classMaxValue: 20, symbol: area([0, 255, 0, 255]) },
    ];
    const renderer = {
      type: 'classBreaks',
      field: 'n',
      defaultSymbol: area([0, 0, 255, 255]),
      classBreakInfos,
    };
    const { renderer: again } = round({ renderer }).drawingInfo;
    expect(again).toMatchObject({
      type: 'classBreaks',
      field: 'n',
      defaultSymbol: renderer.defaultSymbol,
      classBreakInfos,
    });
    expect((again as typeof renderer).classBreakInfos).toHaveLength(2);
  });

  it('has a symbol for what is no number', () => {
    const step = ['step', ['get', 'n'], '#ff0000', 10, '#00ff00'];
    const color = ['case', ['==', ['typeof', ['get', 'n']], 'number'], step, '#b3b3b3'];
    const { drawingInfo, unsupported } = exportDrawingInfo([
      { id: 'a', type: 'line', paint: { 'line-color': color } } as unknown as StyleLayer,
    ]);
    expect(unsupported).toEqual([]);
    expect(drawingInfo.renderer).toMatchObject({
      type: 'classBreaks',
      defaultSymbol: { color: [179, 179, 179, 255] },
      classBreakInfos: [
        { classMaxValue: 10, symbol: { color: [255, 0, 0, 255] } },
        { classMaxValue: 1e300, symbol: { color: [0, 255, 0, 255] } },
      ],
    });
  });

  it('writes the halo of the default style as an outline', () => {
    const { drawingInfo, unsupported } = exportDrawingInfo(defaultStyle('Point', 'trees').layers);
    expect(unsupported).toEqual([]);
    expect(drawingInfo.renderer).toMatchObject({
      symbol: { style: 'esriSMSCircle', size: 6, outline: { color: [255, 255, 255, 230], width: 0.75 } },
    });
  });

  it('has breaks of steps', () => {
    const fill = {
      id: 'a',
      type: 'fill',
      paint: { 'fill-color': ['step', ['get', 'n'], '#ff0000', 10, '#00ff00', 20, '#0000ff'] },
    } as unknown as StyleLayer;
    const { drawingInfo, unsupported } = exportDrawingInfo([fill]);
    expect(unsupported).toEqual([]);
    const { field, classBreakInfos } = drawingInfo.renderer as {
      field: string;
      classBreakInfos: Record<string, unknown>[];
    };
    expect(field).toBe('n');
    expect(
      classBreakInfos.map(({ classMaxValue, symbol }) => [
        classMaxValue,
        (symbol as { color: number[] }).color,
      ]),
    ).toEqual([
      [10, [255, 0, 0, 255]],
      [20, [0, 255, 0, 255]],
      [1e300, [0, 0, 255, 255]],
    ]);
  });

  it('has unique values of rules with filters', () => {
    const line = (value: string, color: string) => ({
      id: value,
      type: 'line',
      filter: ['==', ['get', 'class'], value],
      paint: { 'line-color': color },
    });
    const { drawingInfo } = exportDrawingInfo([
      line('a', '#ff0000'),
      line('b', '#0000ff'),
    ] as unknown as StyleLayer[]);
    expect(drawingInfo.renderer).toMatchObject({
      type: 'uniqueValue',
      field1: 'class',
      defaultSymbol: null,
      uniqueValueInfos: [
        { value: 'a', symbol: { color: [255, 0, 0, 255] } },
        { value: 'b', symbol: { color: [0, 0, 255, 255] } },
      ],
    });
  });

  it('has labels, and tells of what it leaves out', () => {
    const label = {
      id: 'l',
      type: 'symbol',
      layout: { 'text-field': ['concat', ['get', 'a'], ': ', ['get', 'b']] },
    };
    const computed = { id: 'c', type: 'symbol', layout: { 'text-field': ['upcase', ['get', 'a']] } };
    const heat = { id: 'h', type: 'heatmap' };
    const { drawingInfo, unsupported } = exportDrawingInfo([
      heat,
      label,
      computed,
    ] as unknown as StyleLayer[]);
    expect(drawingInfo.labelingInfo).toMatchObject([{ labelExpression: '[a] CONCAT ": " CONCAT [b]' }]);
    expect(unsupported.map(({ symbolizerType }) => symbolizerType)).toEqual(['heatmap', 'text-field']);
  });
});
