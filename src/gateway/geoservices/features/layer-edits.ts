import type { VectorCollection } from '../../../core/catalog/collection.js';
import { badParameter } from '../../../core/errors/errors.js';
import { GeoServicesGeometryError } from '../../../core/geometry/geoservices-geometry.js';
import {
  type EsriFeature,
  type SentFeature,
  sentFeature,
} from '../../../core/geoservices/geoservices-features.js';
import type { LayerEdits } from '../../../services/edits/layer-edits.js';
import { spatialReference } from '../../../services/geoservices/geometry.js';
import { esriLayer } from '../../../services/replicas/layer-view.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import {
  type Members,
  objectId,
  readListMember,
  readObjectIdsMember,
  readObjectMember,
  readObjectsMember,
  requireObject,
} from '../members.js';

/** Edits of a layer as clients send them. Each reader throws 400 naming the parameter. */

/** New features, changes and ids of a layer, with geometries in the CRS of an EPSG code. */
export function layerEdits(collection: VectorCollection, epsg: number, members: Members): LayerEdits {
  if (members['attachments']) throw badParameter('edits', 'have attachments, which are not supported');
  const features = readObjectMember(members, 'features') ?? members;
  const read = (name: string) =>
    (readObjectsMember(features, name, GEOSERVICES_LIMITS.replicaEdits) ?? []).map((feature) =>
      readSentFeature(collection, epsg, feature),
    );
  const updates = read('updates').map((sent) => {
    if (sent.id === undefined) throw badParameter('edits', 'has an update without an object id');
    return { ...sent, id: sent.id };
  });
  const ids = features['deletes'] === undefined ? 'deleteIds' : 'deletes';
  const deletes = Array.isArray(features[ids])
    ? readListMember(features, ids, GEOSERVICES_LIMITS.replicaEdits)!.map((id) =>
        objectId(`edits.${ids}`, id),
      )
    : (readObjectIdsMember(features, ids, GEOSERVICES_LIMITS.replicaEdits) ?? []);
  // Negative ids are temporary ids of a client for new features; the server assigns other ids.
  const adds = read('adds').map((sent) =>
    sent.id !== undefined && sent.id < 0 ? { ...sent, id: undefined } : sent,
  );
  return { adds, updates, deletes: [...new Set(deletes)] };
}

function readSentFeature(collection: VectorCollection, epsg: number, feature: Members): SentFeature {
  const attributes = requireObject('edits', feature['attributes'] ?? {});
  const { geometry } = feature;
  if (geometry !== undefined && geometry !== null) requireCrs(requireObject('edits', geometry), epsg);
  try {
    return sentFeature({ attributes, geometry } as EsriFeature, esriLayer(collection));
  } catch (error) {
    if (error instanceof GeoServicesGeometryError) throw badParameter('edits', error.message);
    throw error;
  }
}

function requireCrs({ spatialReference: own }: Members, epsg: number): void {
  if (own === undefined || own === null) return;
  if (spatialReference('edits', own).epsg !== epsg)
    throw badParameter('edits', `must have geometries in one spatial reference: ${epsg}`);
}
