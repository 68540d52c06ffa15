import Type, { type Static } from 'typebox';
import { OptionalStringSchema } from './envelope.js';
import { OwnerSchema } from './owner.js';

const I = Type.Integer();
const OptionalInteger = Type.Union([I, Type.Null()]);

/** A layer of a connection, as the management API shows it. */
export const LayerSchema = Type.Object({
  layerId: I,
  layerName: Type.String(),
  schema: Type.String(),
  table: Type.String(),
  collectionId: Type.String({ description: 'Its id in the data APIs.' }),
  description: OptionalStringSchema,
  geometryType: OptionalStringSchema,
  srid: OptionalInteger,
  primaryKey: OptionalStringSchema,
  fieldCount: I,
  enabled: Type.Boolean(),
  serviceName: Type.String(),
  license: OptionalStringSchema,
  licenseUrl: OptionalStringSchema,
  attribution: OptionalStringSchema,
  publisher: OptionalStringSchema,
  sourceUrl: OptionalStringSchema,
  owner: OwnerSchema,
});
export type PublishedLayerBody = Static<typeof LayerSchema>;
