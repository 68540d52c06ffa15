import Type from 'typebox';
import { defineOperation, type Operation } from '../../core/http/operation.js';
import { json } from '../../core/http/reply.js';

const Flags = Type.Record(Type.String(), Type.Boolean());
const Capabilities = Type.Object({
  serverVersion: Type.String(),
  releaseChannel: Type.String(),
  protocols: Type.Array(
    Type.Object({ id: Type.String(), name: Type.String(), enabled: Type.Boolean(), path: Type.String() }),
  ),
  features: Flags,
  compatibility: Type.Object({ features: Flags }),
});

/** Data protocols by the ids that clients compare; `enabled` tells whether this server supports them. */
const PROTOCOLS = [
  ['OGC-Features', 'OGC API - Features', '/ogc/features', true],
  ['OGC-Tiles', 'OGC API - Tiles', '/ogc/tiles', true],
  ['OGC-Maps', 'OGC API - Maps', '/ogc/maps', true],
  ['OGC-Coverages', 'OGC API - Coverages', '/ogc/coverages', true],
  ['STAC', 'SpatioTemporal Asset Catalog', '/stac', true],
  ['Streaming', 'Feature streams', '/api/v1/streaming/features', true],
  ['OGC-Processes', 'OGC API - Processes', '/ogc/processes', true],
  ['FeatureServer', 'GeoServices REST: features', '/rest/services', true],
  ['MapServer', 'GeoServices REST: maps', '/rest/services', true],
  ['ImageServer', 'GeoServices REST: images', '/rest/services', true],
  ['VectorTileServer', 'GeoServices REST: vector tiles', '/rest/services', true],
  ['GPServer', 'GeoServices REST: geoprocessing', '/rest/services', true],
  ['GeometryServer', 'GeoServices REST: geometries', '/rest/services', true],
  ['GeocodeServer', 'GeoServices REST: geocoding', '/rest/services', true],
] as const;

const FEATURES = {
  editing: true,
  analytics: true,
  streaming: true,
  imports: true,
  tileJobs: true,
  auditTrail: true,
  metadataResources: false,
  manifestApply: false,
  geoprocessing: true,
};

/** The first request of many clients: version, protocols and features. */
export function capabilitiesOperation(version: string): Operation {
  const document = {
    serverVersion: version,
    releaseChannel: 'preview',
    protocols: PROTOCOLS.map(([id, name, path, enabled]) => ({ id, name, path, enabled })),
    features: FEATURES,
    compatibility: { features: FEATURES },
  };
  return defineOperation({
    surface: 'site',
    protocol: 'Site',
    method: 'GET',
    permission: 'public',
    id: 'site.capabilities',
    path: '/api/v1/capabilities',
    summary: 'Capabilities of the server',
    description: 'Returns version, protocols and features for clients.',
    responses: { 200: { description: 'The capabilities', content: { 'application/json': Capabilities } } },
    run: () => ({ ...json(document), cacheControl: 'no-cache' }),
  });
}
