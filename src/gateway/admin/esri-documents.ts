import Type, { type TSchema } from 'typebox';
import { fieldFailure } from '../../core/errors/errors.js';
import { prefixField } from '../../core/errors/field-errors.js';
import { memberBinder } from '../../core/http/member-binder.js';
import { compileOnUse } from '../../core/http/schema-check.js';

/**
 * Schemas of drawingInfo and popupInfo with all members that the Esri specification of web maps and feature services
 * defines. Binding gives members the spelling of the schema and drops unknown ones.
 */

const VALUES = ['string', 'number', 'boolean', 'null'];

/** A value, or lists of values such as colours. */
const Value = Type.Unsafe<unknown>({
  type: [...VALUES, 'array'],
  items: { type: [...VALUES, 'array'], items: { type: VALUES } },
});

/** An object whose members are the client's own, or that only clients of Esri read: CIM symbols, Arcade settings. */
const Free = Type.Unsafe<unknown>({});

/**
 * Schema of an object or null. `values` lists the names of scalar members in one text; `others` has the schemas of
 * the remaining members.
 */
function object(values: string, others: Readonly<Record<string, TSchema>> = {}) {
  const named = values.split(' ').map((name): [string, TSchema] => [name, Value]);
  return Type.Unsafe<object | null>({
    type: ['object', 'null'],
    properties: { ...Object.fromEntries(named), ...others },
  });
}

const list = (items: TSchema) => Type.Unsafe<unknown>({ type: ['array', 'null'], items });

/** Members of all types of symbols that are values. */
const SYMBOL_VALUES =
  'type style color width height size angle xoffset yoffset xscale yscale url imageData contentType path cap join ' +
  'miterLimit backgroundColor borderLineColor borderLineSize haloColor haloSize verticalAlignment ' +
  'horizontalAlignment rightToLeft kerning rotated text name title styleName styleUrl symbolName minScale maxScale';

const Outline = object(SYMBOL_VALUES, { marker: object('type placement style color') });

const MapSymbol = object(SYMBOL_VALUES, {
  outline: Outline,
  font: object('family size style weight decoration'),
  marker: object('type placement style color'),
  symbol: Free,
  symbolLayers: Free,
  primitiveOverrides: Free,
  scaleFactor: Value,
  verticalOffset: Free,
  callout: Free,
  styleOrigin: object('name styleName styleUrl'),
});

const LegendOptions = object('title order showLegend minLabel maxLabel unit dotLabel');

const VisualVariable = object(
  'type field valueExpression valueExpressionTitle normalizationField minDataValue maxDataValue valueUnit ' +
    'valueRepresentation target axis rotationType expression useSymbolValue colors opacityValues transparencyValues',
  {
    stops: list(object('value label color size opacity transparency')),
    // A size, or a visual variable by the scale of the map.
    minSize: Free,
    maxSize: Free,
    legendOptions: LegendOptions,
  },
);

const Attributes = list(object('field label color valueExpression valueExpressionTitle'));

const COLOR_RAMP = 'type algorithm fromColor toColor';
const ColorRamp = object(COLOR_RAMP, { colorRamps: list(object(COLOR_RAMP)) });

/** Members of all types of renderers but renderers within a renderer. */
const RENDERER = {
  values:
    'type label description rotationType rotationExpression valueExpression valueExpressionTitle ' +
    'field field1 field2 field3 fieldDelimiter defaultLabel ' +
    'minValue classificationMethod normalizationType normalizationField normalizationTotal standardDeviationInterval ' +
    'blurRadius radius maxPixelIntensity minPixelIntensity maxDensity minDensity referenceScale ' +
    'backgroundColor dotBlendingEnabled dotShape dotSize dotValue referenceDotValue dotMaxUrl seed ' +
    'size defaultColor holePercentage dictionaryName url attributeField flowRepresentation style symbolTileSize ' +
    'color density flowSpeed trailLength trailCap trailWidth maxPathLength ' +
    'stretchType computeGamma dra estimateStatistics gamma useGamma invert max min minPercent maxPercent ' +
    'numberOfStandardDeviations outputMax outputMin sigmoidStrengthLevel statistics ' +
    'altitude azimuth hillshadeType pixelSizeFactor pixelSizePower scalingType zFactor',
  others: {
    symbol: MapSymbol,
    defaultSymbol: MapSymbol,
    backgroundFillSymbol: MapSymbol,
    uniqueValueInfos: list(object('value label description count', { symbol: MapSymbol })),
    uniqueValueGroups: list(
      object('heading', { classes: list(object('label description values', { symbol: MapSymbol })) }),
    ),
    classBreakInfos: list(
      object('classMinValue classMaxValue minValue maxValue label description', { symbol: MapSymbol }),
    ),
    visualVariables: list(VisualVariable),
    colorStops: list(object('ratio color label value')),
    colormapInfos: list(object('value color label')),
    colorRamp: ColorRamp,
    attributes: Attributes,
    othersCategory: object('color label threshold'),
    outline: Outline,
    legendOptions: LegendOptions,
    authoringInfo: Free,
    config: Free,
    fieldMap: Free,
    scalingExpressionInfo: object('expression title returnType'),
  },
} as const;

const InnerRenderer = object(RENDERER.values, RENDERER.others);

const Renderer = object(RENDERER.values, {
  ...RENDERER.others,
  observationRenderer: InnerRenderer,
  latestObservationRenderer: InnerRenderer,
  trackRenderer: InnerRenderer,
  observationAger: Free,
});

const FieldInfo = object(
  'fieldName label tooltip visible isEditable isEditableOnLayer stringFieldOption statisticType',
  {
    format: object(
      'places digitSeparator dateFormat minimumFractionDigits maximumFractionDigits useGrouping style',
    ),
  },
);

const LabelClass = object(
  'labelExpression labelPlacement useCodedValues where name minScale maxScale deconflictionStrategy repeatLabel ' +
    'repeatLabelDistance allowOverrun stackLabel stackAlignment stackRowLength stackBreakPosition removeDuplicates ' +
    'removeDuplicatesDistance lineConnection lineOrientation multiPart offsetDistance maxInset priority showLabels',
  {
    labelExpressionInfo: object('expression title value returnType'),
    symbol: MapSymbol,
    fieldInfos: list(FieldInfo),
    stackSeparators: list(object('separator visible splitAfter forceSplit')),
  },
);

export const DrawingInfo = object(
  'transparency scaleSymbols showLabels showLegend fixedSymbols blendMode minScale maxScale',
  {
    renderer: Renderer,
    labelingInfo: list(LabelClass),
    effect: Free,
    bloom: Free,
  },
);

const ExpressionInfo = object('name title expression returnType');
const OrderByFields = list(object('field order relationshipId'));
const MediaInfo = object('type title caption altText refreshInterval', {
  value: object('fields normalizeField tooltipField colors sourceURL linkURL'),
});

const ELEMENT = {
  values:
    'type title description text attachmentKeywords attachmentTypes displayType displayCount relationshipId ' +
    'activeMediaInfoIndex orderByField maxAttachments',
  others: {
    attributes: Free,
    expressionInfo: ExpressionInfo,
    fieldInfos: list(FieldInfo),
    mediaInfos: list(MediaInfo),
    orderByFields: OrderByFields,
    associatedTypes: Free,
  },
} as const;

export const PopupInfo = object('title description showAttachments', {
  fieldInfos: list(FieldInfo),
  mediaInfos: list(MediaInfo),
  expressionInfos: list(ExpressionInfo),
  layerOptions: object('showNoDataRecords returnTopmostRaster'),
  popupElements: list(
    object(ELEMENT.values, {
      ...ELEMENT.others,
      elements: list(object(ELEMENT.values, ELEMENT.others)),
    }),
  ),
  relatedRecordsInfo: object('showRelatedRecords', { orderByFields: OrderByFields }),
});

const SCHEMAS = { drawingInfo: DrawingInfo, popupInfo: PopupInfo };

const BINDERS = Object.fromEntries(
  Object.entries(SCHEMAS).map(([name, schema]) => [
    name,
    { bind: memberBinder(schema)!, check: compileOnUse(schema) },
  ]),
);

/**
 * The document as its schema spells it, without unknown members. `at` is its JSON pointer in the body. Throws
 * `invalid-body` for a member of another type.
 */
export function bindDocument<T extends object | null>(
  kind: keyof typeof SCHEMAS,
  document: T,
  at: string,
): T {
  const { bind, check } = BINDERS[kind]!;
  const bound = bind(document, at);
  const errors = check(bound).map((error) => prefixField(at, error));
  if (errors.length > 0) throw fieldFailure('invalid-body', errors);
  return bound as T;
}
