import Type from 'typebox';

const collection = {
  type: Type.Literal('FeatureCollection'),
  features: Type.Array(Type.Object({})),
  numberReturned: Type.Integer(),
};

/** H3 cells come without metadata. */
export const H3Collection = Type.Object(collection);

export const AnalyticsCollection = Type.Object({
  ...collection,
  metadata: Type.Object({
    operation: Type.String(),
    inputTruncated: Type.Boolean(),
    resultTruncated: Type.Boolean(),
    maxInputFeatures: Type.Integer(),
    maxOutputRows: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
  }),
});
