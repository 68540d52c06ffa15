import { countries, lines, points } from './tiles.js';

/** A style of one rule in SLD 1.1 with Symbology Encoding. */
const se = (content: string) =>
  `<?xml version="1.0" encoding="UTF-8"?><StyledLayerDescriptor version="1.1.0" xmlns="http://www.opengis.net/sld" xmlns:se="http://www.opengis.net/se" xmlns:ogc="http://www.opengis.net/ogc"><NamedLayer><se:Name>layer</se:Name><UserStyle><se:FeatureTypeStyle>${content}</se:FeatureTypeStyle></UserStyle></NamedLayer></StyledLayerDescriptor>`;
/** The same in SLD 1.0. */
const sld = (content: string) =>
  `<?xml version="1.0" encoding="UTF-8"?><StyledLayerDescriptor version="1.0.0" xmlns="http://www.opengis.net/sld" xmlns:ogc="http://www.opengis.net/ogc"><NamedLayer><Name>layer</Name><UserStyle><FeatureTypeStyle>${content}</FeatureTypeStyle></UserStyle></NamedLayer></StyledLayerDescriptor>`;
const param = (name: string, value: string | number) =>
  `<se:SvgParameter name="${name}">${value}</se:SvgParameter>`;
const css = (name: string, value: string | number) => `<CssParameter name="${name}">${value}</CssParameter>`;

export const VECTOR_SLDS: Record<string, { tile: () => Uint8Array; sld: string }> = {
  'PolygonSymbolizer by rules': {
    tile: countries,
    sld: se(
      `<se:Rule><ogc:Filter><ogc:PropertyIsEqualTo><ogc:PropertyName>code</ogc:PropertyName><ogc:Literal>DZA</ogc:Literal></ogc:PropertyIsEqualTo></ogc:Filter><se:PolygonSymbolizer><se:Fill>${param('fill', '#c2a25a')}</se:Fill><se:Stroke>${param('stroke', '#000000')}${param('stroke-width', 3)}</se:Stroke></se:PolygonSymbolizer></se:Rule><se:Rule><se:ElseFilter/><se:PolygonSymbolizer><se:Fill>${param('fill', '#88aadd')}${param('fill-opacity', 0.5)}</se:Fill><se:Stroke>${param('stroke', '#ffffff')}</se:Stroke></se:PolygonSymbolizer></se:Rule>`,
    ),
  },
  'LineSymbolizer with dashes': {
    tile: lines,
    sld: sld(
      `<Rule><LineSymbolizer><Stroke>${css('stroke', '#aa3311')}${css('stroke-width', 5)}${css('stroke-dasharray', '12 6')}${css('stroke-linecap', 'round')}</Stroke></LineSymbolizer></Rule>`,
    ),
  },
  'PointSymbolizer with marks': {
    tile: points,
    sld: se(
      ['circle', 'square', 'triangle', 'star', 'cross', 'x']
        .map(
          (mark, i) =>
            `<se:Rule><ogc:Filter><ogc:PropertyIsEqualTo><ogc:PropertyName>size</ogc:PropertyName><ogc:Literal>${i + 1}</ogc:Literal></ogc:PropertyIsEqualTo></ogc:Filter><se:PointSymbolizer><se:Graphic><se:Mark><se:WellKnownName>${mark}</se:WellKnownName><se:Fill>${param('fill', '#2b8cbe')}</se:Fill><se:Stroke>${param('stroke', '#111111')}</se:Stroke></se:Mark><se:Size>18</se:Size></se:Graphic></se:PointSymbolizer></se:Rule>`,
        )
        .join(''),
    ),
  },
  'TextSymbolizer with halo': {
    tile: points,
    sld: se(
      `<se:Rule><se:TextSymbolizer><se:Label><ogc:PropertyName>label</ogc:PropertyName></se:Label><se:Font>${param('font-family', 'Noto Sans')}${param('font-size', 13)}${param('font-weight', 'bold')}</se:Font><se:LabelPlacement><se:PointPlacement><se:AnchorPoint><se:AnchorPointX>0.5</se:AnchorPointX><se:AnchorPointY>0.5</se:AnchorPointY></se:AnchorPoint></se:PointPlacement></se:LabelPlacement><se:Halo><se:Radius>2</se:Radius><se:Fill>${param('fill', '#ffffaa')}</se:Fill></se:Halo><se:Fill>${param('fill', '#552200')}</se:Fill></se:TextSymbolizer></se:Rule>`,
    ),
  },
};

export const RASTER_SLDS: Record<string, { of: 'dem' | 'landsat'; sld: string }> = {
  'RasterSymbolizer with a ramp': {
    of: 'dem',
    sld: sld(
      '<Rule><RasterSymbolizer><ColorMap type="ramp"><ColorMapEntry color="#004488" quantity="0"/><ColorMapEntry color="#eeee88" quantity="40"/><ColorMapEntry color="#bb2200" quantity="88"/></ColorMap></RasterSymbolizer></Rule>',
    ),
  },
  'RasterSymbolizer with channels': {
    of: 'landsat',
    sld: sld(
      '<Rule><RasterSymbolizer><ChannelSelection><RedChannel><SourceChannelName>4</SourceChannelName></RedChannel><GreenChannel><SourceChannelName>3</SourceChannelName></GreenChannel><BlueChannel><SourceChannelName>2</SourceChannelName></BlueChannel></ChannelSelection></RasterSymbolizer></Rule>',
    ),
  },
};
