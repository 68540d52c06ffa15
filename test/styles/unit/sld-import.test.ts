import { describe, expect, it } from 'vitest';
import { importSld } from '../../../src/core/styles/sld/import/import.js';
import Database from '../../../src/native/sqlite.js';
import { fixture, importRule, onlyLayer, takenBy } from '../support.js';

const literal = (value: string) => `<ogc:Literal>${value}</ogc:Literal>`;
const property = (name: string) => `<ogc:PropertyName>${name}</ogc:PropertyName>`;
const like = (pattern: string, attributes = 'wildCard="*" singleChar="?" escape="!"') =>
  `<ogc:PropertyIsLike ${attributes}>${property('name')}${literal(pattern)}</ogc:PropertyIsLike>`;

describe('styles of other programs', () => {
  it('reads the SLD of world_map.gpkg without a loss', () => {
    const db = new Database(new URL('../../../demo/data/world_map.gpkg', import.meta.url).pathname, {
      readonly: true,
    });
    const rows = db.prepare('SELECT f_table_name AS name, styleSLD AS sld FROM layer_styles').all();
    db.close();
    const styles = (rows as { name: string; sld: string }[]).map(({ name, sld }) => {
      const { layers, diagnostics, detectedVersion } = importSld(sld);
      return { name, detectedVersion, diagnostics, types: layers.map(({ type }) => type) };
    });
    const read = { detectedVersion: 'Sld11', diagnostics: [] };
    expect(styles).toEqual([
      { name: 'countries', ...read, types: ['fill', 'line'] },
      { name: 'states_provinces', ...read, types: ['line'] },
      { name: 'disputed_borders', ...read, types: ['line'] },
      { name: 'disputed_borders', ...read, types: ['line'] },
    ]);
  });

  it('reads casings, scales, else rules and labels of GeoServer', () => {
    const { layers, diagnostics, name } = importSld(fixture('geoserver-roads-1.0.sld'));
    expect(name).toBe('Roads with casing');
    expect(diagnostics).toEqual([
      { severity: 'Warning', construct: 'VendorOption', message: 'The option group has no counterpart.' },
    ]);
    expect(layers).toMatchObject([
      {
        type: 'line',
        minzoom: 8.12692,
        paint: { 'line-width': 5 },
        metadata: { 'graticule:title': 'Motorway' },
      },
      { type: 'line', maxzoom: 15.77077, paint: { 'line-dasharray': [2.5, 1, 0.5, 2.5, 1, 0.5] } },
      { type: 'line', paint: { 'line-width': ['step', ['get', 'lanes'], 1, 2, 2.5, 4, 4] } },
      {
        type: 'symbol',
        layout: {
          'text-font': ['Noto Sans Bold'],
          'symbol-placement': 'line',
          'symbol-spacing': 300,
          'text-padding': 10,
          'text-max-width': 5,
          'text-offset': [0, -1],
        },
        paint: { 'text-halo-color': 'rgba(255,255,255,0.7)', 'text-halo-width': 2 },
      },
    ]);
  });

  it('reads marks and labels of QGIS', () => {
    const { layers } = importSld(fixture('qgis-points-1.1.sld'), { geometryType: 'Point' });
    expect(layers).toMatchObject([
      { type: 'circle', paint: { 'circle-radius': 6, 'circle-stroke-width': 2 } },
      {
        type: 'symbol',
        maxzoom: 18.0927,
        layout: { 'icon-image': 'mark-x', 'icon-size': 0.5, 'icon-rotate': ['get', 'angle'] },
        paint: { 'icon-color': '#33a02c', 'icon-translate': [3, -4] },
      },
      {
        type: 'symbol',
        layout: { 'text-variable-anchor': ['bottom', 'left', 'right', 'top'], 'text-size': 13 },
      },
    ]);
    // A scale of zoom 0 restricts nothing.
    expect(layers[1]).not.toHaveProperty('minzoom');
  });

  it('reads what QGIS 3.22 writes of categories, classes and rules', () => {
    const read = (name: string) => importSld(fixture(name));
    const [categories, graduated, rules] = ['categories', 'graduated', 'rules'].map((name) =>
      read(`qgis-${name}.sld`),
    );
    expect([categories, graduated].flatMap((one) => one!.diagnostics)).toEqual([]);
    expect(rules!.diagnostics.map(({ construct }) => construct)).toEqual(['font-family']);
    expect(categories!.layers.map(({ type }) => type)).toEqual([
      'fill',
      'line',
      'fill',
      'line',
      'fill',
      'line',
    ]);
    expect(categories!.layers[4]).toMatchObject({
      filter: ['any', ['==', ['get', 'class'], ''], ['==', ['get', 'class'], null]],
    });
    expect(graduated!.layers[0]).toMatchObject({
      filter: ['all', ['>=', ['get', 'pop'], 0], ['<=', ['get', 'pop'], 10]],
    });
    expect(rules!.layers[0]).toMatchObject({
      minzoom: 11.44884,
      maxzoom: 18.0927,
      layout: { 'icon-image': 'mark-star', 'icon-rotate': 30 },
    });
  });

  it('reads classifications of SE and lengths on the ground', () => {
    const { layers, diagnostics } = importSld(fixture('se-classes-1.1.sld'), { geometryType: 'Polygon' });
    expect(layers).toMatchObject([
      {
        paint: {
          'fill-color': [
            'case',
            ['==', ['typeof', ['get', 'pop']], 'number'],
            ['interpolate', ['linear'], ['get', 'pop'], 0, '#ffffff', 100, '#ff0000'],
            '#cccccc',
          ],
        },
      },
      {
        paint: {
          'line-color': ['match', ['to-string', ['get', 'code']], 'A', '#aa0000', 'B', '#00bb00', '#000000'],
          'line-width': ['interpolate', ['exponential', 2], ['zoom'], 0, 0.0002555207919, 24, 4286.927519],
        },
      },
    ]);
    expect(diagnostics.map(({ construct }) => construct)).toEqual(['uom']);
  });

  it('reads colour maps and relief of rasters', () => {
    const { layers } = importSld(fixture('geoserver-dem-1.0.sld'), { geometryType: 'raster' });
    const colors = [
      [0, 255, 0, 0],
      [255, 255, 0, 255],
      [255, 0, 0, 255],
    ];
    expect(layers).toMatchObject([
      {
        type: 'raster',
        paint: { 'raster-opacity': 0.8 },
        metadata: { 'graticule:look': { colormap: { kind: 'stops', values: [-10, 100.5, 3000], colors } } },
      },
      { type: 'hillshade', paint: { 'hillshade-exaggeration': 0.5 } },
    ]);
  });
});

describe('filters', () => {
  it('finds what patterns of any characters find', () => {
    const taken = takenBy(like('a*b*c'));
    expect(['abc', 'aXbXc', 'abbc', 'abcc'].map((name) => taken({ name }))).toEqual([true, true, true, true]);
    expect(['ac', 'bac', 'abcd', 'acb', ''].map((name) => taken({ name }))).not.toContain(true);
    // The piece in the middle and the end must not be the same letters.
    expect(takenBy(like('a*bc*c'))({ name: 'abc' })).toBe(false);
    expect(takenBy(like('a!*b'))({ name: 'a*b' })).toBe(true);
    expect(takenBy(like('a?c'))({ name: 'abc' })).toBe(true);
    expect(takenBy(like('a?c'))({ name: 'abbc' })).toBe(false);
    expect(takenBy(like('*ort*'))({ name: 'north' })).toBe(true);
    expect(
      takenBy(like('NO*', 'wildCard="*" singleChar="?" escape="!" matchCase="false"'))({ name: 'north' }),
    ).toBe(true);
  });

  it('compares by the kind of the attribute, and by the look of the literal where nobody knows it', () => {
    const equal = `<ogc:PropertyIsEqualTo>${property('code')}${literal('05')}</ogc:PropertyIsEqualTo>`;
    expect([5, '05', '5'].map((code) => takenBy(equal)({ code }))).toEqual([true, true, false]);
    const text = { fields: [{ name: 'code', type: 'string' as const }] };
    expect([5, '05'].map((code) => takenBy(equal, text)({ code }))).toEqual([false, true]);
    const number = { fields: [{ name: 'CODE', type: 'integer' as const }] };
    expect(takenBy(equal, number)({ CODE: 5 })).toBe(true);
    const less = `<ogc:PropertyIsLessThan>${literal('3')}${property('n')}</ogc:PropertyIsLessThan>`;
    expect([2, 4].map((n) => takenBy(less)({ n }))).toEqual([false, true]);
  });

  it('keeps features without a value for the else rule', () => {
    const rule = (condition: string) => `<Rule>${condition}<LineSymbolizer><Stroke/></LineSymbolizer></Rule>`;
    const more = `<ogc:Filter><ogc:PropertyIsGreaterThan>${property('n')}${literal('3')}</ogc:PropertyIsGreaterThan></ogc:Filter>`;
    const { layers } = importSld(
      `<FeatureTypeStyle version="1.1.0">${rule(more)}${rule('<ElseFilter/>')}</FeatureTypeStyle>`,
    );
    expect(layers[1]).toMatchObject({
      filter: ['!', ['all', ['!=', ['get', 'n'], null], ['>', ['get', 'n'], 3]]],
    });
  });

  it('finds identifiers with the name of a layer before them', () => {
    const taken = takenBy('<ogc:FeatureId fid="roads.7"/><ogc:FeatureId fid="9"/>');
    expect([7, 8, 9].map((id) => taken({}, id))).toEqual([true, false, true]);
  });

  it('turns a box into an area for points, and leaves the rule out for areas', () => {
    const bbox =
      `<ogc:Filter><ogc:BBOX>${property('geom')}<Box srsName="EPSG:4326"><coordinates>1,2 3,4</coordinates></Box></ogc:BBOX></ogc:Filter>` +
      '<LineSymbolizer/>';
    const { layers } = importRule(bbox, { geometryType: 'Point' });
    expect(layers[0]).toMatchObject({
      filter: [
        'within',
        {
          type: 'Polygon',
          coordinates: [
            [
              [1, 2],
              [3, 2],
              [3, 4],
              [1, 4],
              [1, 2],
            ],
          ],
        },
      ],
    });
    const areas = importRule(bbox, { geometryType: 'Polygon' });
    expect(areas.layers).toEqual([]);
    expect(areas.diagnostics[0]).toMatchObject({ severity: 'Error', construct: 'BBOX', ruleName: 'r' });
  });
});

describe('symbolizers', () => {
  it('takes functions and arithmetic in parameters', () => {
    const width = `<CssParameter name="stroke-width"><ogc:Add>${property('n')}<ogc:Mul>${literal('2')}${literal('3')}</ogc:Mul></ogc:Add></CssParameter>`;
    const { paint } = onlyLayer(importRule(`<LineSymbolizer><Stroke>${width}</Stroke></LineSymbolizer>`));
    expect(paint).toMatchObject({ 'line-width': ['+', ['get', 'n'], ['*', 2, 3]] });
    const label = `<Label><ogc:Function name="strToUpperCase">${property('name')}</ogc:Function></Label>`;
    const { layout } = onlyLayer(importRule(`<TextSymbolizer>${label}</TextSymbolizer>`));
    expect(layout).toMatchObject({ 'text-field': ['upcase', ['to-string', ['get', 'name']]] });
  });

  it('reports modes and thresholds of functions that it draws in another way', () => {
    const widthBy = (name: string, ...parts: string[]) =>
      importRule(
        `<LineSymbolizer><Stroke><CssParameter name="stroke-width"><ogc:Function name="${name}">${property('n')}${parts.map(literal).join('')}</ogc:Function></CssParameter></Stroke></LineSymbolizer>`,
      );
    const warn = (construct: string, message: string) => [
      { severity: 'Warning', construct, message, ruleName: 'r' },
    ];
    const width = (imported: ReturnType<typeof importRule>) =>
      (onlyLayer(imported).paint as Record<string, unknown>)['line-width'];
    const pairs = ['0', '1', '10', '2'];
    for (const mode of ['cosine', 'cubic']) {
      const curved = widthBy('Interpolate', ...pairs, mode);
      expect(width(curved)).toEqual(['interpolate', ['linear'], ['get', 'n'], 0, 1, 10, 2]);
      expect(curved.diagnostics).toEqual(warn('Interpolate', `The mode ${mode} is drawn as linear.`));
    }
    expect(widthBy('Interpolate', ...pairs, 'linear', 'numeric').diagnostics).toEqual([]);
    const classes = ['1', '10', '2'];
    expect(widthBy('Categorize', ...classes, 'preceding').diagnostics).toEqual(
      warn('Categorize', 'Thresholds belong to the class above them.'),
    );
    expect(widthBy('Categorize', ...classes, 'succeeding').diagnostics).toEqual([]);
  });

  it('names the number of arguments that a function has and needs', () => {
    const call = (name: string, count: number) =>
      importRule(
        `<LineSymbolizer><Stroke><CssParameter name="stroke-width"><ogc:Function name="${name}">${literal('1').repeat(count)}</ogc:Function></CssParameter></Stroke></LineSymbolizer>`,
      ).diagnostics.map(({ message }) => message);
    expect(call('sqrt', 2)).toEqual(['sqrt has 2 arguments instead of 1.']);
    expect(call('strSubstring', 1)).toEqual(['strSubstring has 1 arguments instead of 2 to 3.']);
    expect(call('max', 0)).toEqual(['max has 0 arguments instead of at least 1.']);
  });

  it('tells of what it draws otherwise, and draws the rest', () => {
    const hatched =
      '<Fill><GraphicFill><Graphic><Mark><WellKnownName>shape://slash</WellKnownName><Stroke><CssParameter name="stroke">#ff0000</CssParameter></Stroke></Mark></Graphic></GraphicFill></Fill>';
    const { layers, diagnostics } = importRule(
      `<PolygonSymbolizer>${hatched}</PolygonSymbolizer><PointSymbolizer><Graphic><ExternalGraphic><OnlineResource xmlns:xlink="x" xlink:href="http://e.org/a.png"/></ExternalGraphic></Graphic></PointSymbolizer>`,
    );
    expect(layers).toMatchObject([{ type: 'fill', paint: { 'fill-color': '#ff0000', 'fill-opacity': 0.3 } }]);
    expect(diagnostics.map(({ severity, construct }) => `${severity} ${construct}`)).toEqual([
      'Warning GraphicFill',
      'Error ExternalGraphic',
    ]);
  });

  it('takes icons of our set by the name of their file, and images within the text', () => {
    const graphic = (href: string) =>
      `<PointSymbolizer><Graphic><ExternalGraphic><OnlineResource xmlns:xlink="x" xlink:href="${href}"/></ExternalGraphic><Size>32</Size></Graphic></PointSymbolizer>`;
    const icons = new Set(['airport']);
    expect(onlyLayer(importRule(graphic('../svg/airport-15.svg'), { icons })).layout).toMatchObject({
      'icon-image': 'airport',
      'icon-size': 2.133333333,
    });
    const { layers } = importRule(graphic('data:image/png;base64,AAAA'));
    const { metadata, layout } = layers[0] as never as Record<string, Record<string, object>>;
    expect(metadata!['graticule:images']).toEqual({
      [String(layout!['icon-image'])]: 'data:image/png;base64,AAAA',
    });
  });

  it('draws layers only that the style specification accepts', () => {
    const two = `<LineSymbolizer><Stroke><CssParameter name="stroke-width">-3</CssParameter></Stroke></LineSymbolizer><LineSymbolizer/>`;
    const { layers, diagnostics } = importRule(two);
    expect(layers).toHaveLength(1);
    expect(diagnostics).toMatchObject([{ severity: 'Error', construct: 'line', ruleName: 'r' }]);
  });
});
