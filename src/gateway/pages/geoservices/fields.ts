/** Form fields of parameters of GeoServices operations, by the names of the parameters. */

export interface FieldKind {
  /** Allowed values. */
  readonly words?: readonly string[];
  /** Value that the server uses without the parameter. */
  readonly usual?: string;
  readonly type?: 'number' | 'json' | 'file';
  readonly placeholder?: string;
}

const flag = (usual: boolean): FieldKind => ({ words: ['true', 'false'], usual: String(usual) });
const NUMBER: FieldKind = { type: 'number' };
const GEOMETRY_TYPES = ['Point', 'Multipoint', 'Polyline', 'Polygon', 'Envelope'].map(
  (name) => `esriGeometry${name}`,
);
const json = (placeholder: string): FieldKind => ({ type: 'json', placeholder });

const FIELDS: Readonly<Record<string, FieldKind>> = {
  returnGeometry: flag(true),
  returnZ: flag(false),
  returnCountOnly: flag(false),
  returnIdsOnly: flag(false),
  returnExtentOnly: flag(false),
  returnCentroid: flag(false),
  returnDistinctValues: flag(false),
  returnExceededLimitFeatures: flag(true),
  returnUrl: flag(false),
  rollbackOnFailure: { words: ['true', 'false'] },
  adds: json('[{"attributes":{"name":"A"},"geometry":{"x":8.5,"y":47.4}}]'),
  updates: json('[{"attributes":{"objectid":1,"name":"B"}}]'),
  features: json('[{"attributes":{"name":"A"},"geometry":{"x":8.5,"y":47.4}}]'),
  calcExpression: json('[{"field":"name","value":"A"}]'),
  transparent: flag(false),
  contains: flag(true),
  attachment: { type: 'file' },
  edits: json('[{"id":0,"adds":[],"updates":[],"deleteIds":[]}]'),
  layerQueries: json('{"0":{"where":"FIELD > 10"}}'),
  geometryType: { words: GEOMETRY_TYPES },
  spatialRel: {
    words: [
      'Intersects',
      'Contains',
      'Crosses',
      'EnvelopeIntersects',
      'IndexIntersects',
      'Overlaps',
      'Touches',
      'Within',
    ].map((name) => `esriSpatialRel${name}`),
    usual: 'esriSpatialRelIntersects',
  },
  units: {
    words: ['Meter', 'Kilometer', 'StatuteMile', 'NauticalMile', 'Foot'].map((name) => `esriSRUnit_${name}`),
    usual: 'esriSRUnit_Meter',
  },
  resultType: { words: ['none', 'standard', 'tile'], usual: 'none' },
  binOrder: { words: ['ASC', 'DESC'], usual: 'ASC' },
  sqlType: { words: ['where'], usual: 'where' },
  distance: NUMBER,
  resultOffset: NUMBER,
  resultRecordCount: NUMBER,
  geometryPrecision: NUMBER,
  maxAllowableOffset: NUMBER,
  maxRecordCountFactor: NUMBER,
  tolerance: NUMBER,
  dpi: NUMBER,
  resolution: NUMBER,
  maxLocations: NUMBER,
  maxSuggestions: NUMBER,
  relationshipId: NUMBER,
  compressionQuality: NUMBER,
  geometry: json('8.5,47.4 or {"x":8.5,"y":47.4}'),
  geometries: json('{"geometryType":"esriGeometryPoint","geometries":[{"x":8.5,"y":47.4}]}'),
  outStatistics: json('[{"statisticType":"count","onStatisticField":"FIELD","outStatisticFieldName":"n"}]'),
  quantizationParameters: json('{"mode":"view","originPosition":"upperLeft","tolerance":100}'),
  classificationDef: json(
    '{"type":"classBreaksDef","classificationField":"FIELD","classificationMethod":"esriClassifyNaturalBreaks","breakCount":5}',
  ),
  topFilter: json('{"groupByFields":"FIELD","topCount":1,"orderByFields":"FIELD DESC"}'),
  bin: json('{"type":"autoIntervalBin","onField":"FIELD","parameters":{"numberOfBins":10}}'),
  dynamicLayers: json('[{"id":0,"source":{"type":"mapLayer","mapLayerId":0}}]'),
  layerDefs: json('{"0":"FIELD > 10"}'),
  renderingRule: json('{"rasterFunction":"Stretch"}'),
  mosaicRule: json('{"mosaicMethod":"esriMosaicNone"}'),
  addresses: json('{"records":[{"attributes":{"OBJECTID":1,"SingleLine":"Bern"}}]}'),
  where: { placeholder: 'POPULATION > 10000' },
  bbox: { placeholder: 'xmin,ymin,xmax,ymax' },
  size: { placeholder: 'width,height' },
};

export function findFormField(name: string): FieldKind {
  return Object.hasOwn(FIELDS, name) ? FIELDS[name]! : {};
}

/** Values that the empty form of an operation starts with. */
const INITIAL: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  query: { where: '1=1', outFields: '*', resultRecordCount: '20' },
  queryTopFeatures: { where: '1=1', outFields: '*' },
  queryRelatedRecords: { outFields: '*' },
  identify: { sr: '4326', layers: 'all', returnGeometry: 'false' },
  find: { returnGeometry: 'false' },
  export: { size: '800,400' },
  exportImage: { size: '600,400' },
  generateRenderer: { where: '1=1' },
};

export function findInitial(verb: string): Readonly<Record<string, string>> {
  return Object.hasOwn(INITIAL, verb) ? INITIAL[verb]! : {};
}
