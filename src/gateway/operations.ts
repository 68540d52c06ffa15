import type { Collection } from '../core/collection.js';
import type { ServiceProtocol } from '../core/layer-settings.js';
import type { Operation, Principal } from '../core/operation.js';
import { Symbols } from '../services/symbols.js';
import { measuring } from './measured.js';
import { type AccountDeps, accountOperations } from './surfaces/account/operations.js';
import { coveragesOperations } from './surfaces/coverages/operations.js';
import type { EditDeps } from './surfaces/features/edits/operations.js';
import type { ItemDeps } from './surfaces/features/item-operations.js';
import { featuresOperations } from './surfaces/features/operations.js';
import { layerAnalyticsOperations } from './surfaces/geoservices/analytics-operations.js';
import {
  type AttachmentSurface,
  attachmentOperations,
} from './surfaces/geoservices/attachment-operations.js';
import { binOperations } from './surfaces/geoservices/bins.js';
import { catalogueOperations } from './surfaces/geoservices/catalogue-operations.js';
import { editOperations } from './surfaces/geoservices/edit-operations.js';
import { featureOperations } from './surfaces/geoservices/feature-resource.js';
import { rendererOperations } from './surfaces/geoservices/generate-renderer.js';
import { type GeocodeDeps, geocodeServerOperations } from './surfaces/geoservices/geocode-server.js';
import { geometryServerOperations } from './surfaces/geoservices/geometry-server.js';
import { gpServerOperations } from './surfaces/geoservices/gp-server.js';
import { imageServerOperations } from './surfaces/geoservices/image-server.js';
import { mapServerOperations } from './surfaces/geoservices/map-server.js';
import { metadataOperations } from './surfaces/geoservices/metadata-operations.js';
import { portalOperations } from './surfaces/geoservices/portal-operations.js';
import { queryOperations } from './surfaces/geoservices/query-operations.js';
import { relatedOperations } from './surfaces/geoservices/related-operations.js';
import { type ReplicaDeps, replicaOperations } from './surfaces/geoservices/replica-operations.js';
import { serviceQueryOperations } from './surfaces/geoservices/service-query.js';
import { tokenOperation } from './surfaces/geoservices/token-operations.js';
import { topFeatureOperations } from './surfaces/geoservices/top-features.js';
import { vectorTileServerOperations } from './surfaces/geoservices/vector-tile-server.js';
import { mapsOperations } from './surfaces/maps/operations.js';
import type { MapsDeps } from './surfaces/maps/viewer.js';
import { type OAuthDeps, oauthOperations } from './surfaces/oauth/operations.js';
import { type ProbeDeps, probeOperations } from './surfaces/probes/operations.js';
import { type ProcessesDeps, processesOperations } from './surfaces/processes/operations.js';
import { collectionPageOperations } from './surfaces/site/collection-pages.js';
import { SURFACES } from './surfaces/site/documents.js';
import { type SiteDeps, siteOperations } from './surfaces/site/operations.js';
import { type StacDeps, stacOperations } from './surfaces/stac/operations.js';
import { type StreamingDeps, streamingOperations } from './surfaces/streaming/operations.js';
import { stylesOperations } from './surfaces/styles/operations.js';
import { type TilesDeps, tilesOperations } from './surfaces/tiles/operations.js';

export type SurfaceDeps = StreamingDeps &
  Omit<MapsDeps, 'symbols'> &
  TilesDeps &
  Omit<StacDeps, 'visibleEverywhere'> &
  ItemDeps &
  EditDeps &
  ProbeDeps &
  AccountDeps &
  OAuthDeps &
  ReplicaDeps &
  ProcessesDeps &
  AttachmentSurface &
  GeocodeDeps &
  Omit<SiteDeps, 'surfaces'> & {
    /** Looks whether other programs wrote to tables of databases. */
    readonly lookAtTables?: (collections: readonly Collection[]) => Promise<unknown> | undefined;
  };

/** Every operation of the data surfaces, the site and the probes. */
export function surfaceOperations(deps: SurfaceDeps): Operation[] {
  const on = (protocol: ServiceProtocol) => ({
    ...deps,
    visible: (principal: Principal) => deps.visible(principal).serving(protocol),
  });
  const onEarth = (protocol: ServiceProtocol) => ({
    ...deps,
    visible: (principal: Principal) => deps.visible(principal).onEarth.serving(protocol),
  });
  const directory = {
    ...onEarth('FeatureServer'),
    visibleMaps: onEarth('MapServer').visible,
    visibleImages: onEarth('ImageServer').visible,
    visibleVectorTiles: onEarth('VectorTileServer').visible,
  };
  const symbols = new Symbols(deps.pools);
  const operations = [
    ...probeOperations(deps),
    ...siteOperations({ ...deps, surfaces: SURFACES }),
    ...accountOperations(deps),
    ...oauthOperations(deps),
    ...collectionPageOperations(deps),
    ...featuresOperations(on('OgcFeatures')),
    ...tilesOperations(onEarth('OgcTiles')),
    ...mapsOperations({ ...on('OgcMaps'), symbols }),
    ...coveragesOperations(on('OgcCoverages')),
    ...stacOperations({ ...onEarth('Stac'), visibleEverywhere: deps.visible }),
    ...streamingOperations(onEarth('Streaming')),
    ...catalogueOperations(directory),
    ...portalOperations(directory),
    tokenOperation(deps),
    ...gpServerOperations(deps),
    ...mapServerOperations(onEarth('MapServer')),
    ...geometryServerOperations(deps),
    ...imageServerOperations(onEarth('ImageServer')),
    ...vectorTileServerOperations({ ...onEarth('VectorTileServer'), symbols }),
    ...geocodeServerOperations(deps),
    ...queryOperations(onEarth('FeatureServer')),
    ...featureOperations(onEarth('FeatureServer'), 'FeatureServer'),
    ...serviceQueryOperations(onEarth('FeatureServer')),
    ...metadataOperations(onEarth('FeatureServer')),
    ...relatedOperations(onEarth('FeatureServer')),
    ...topFeatureOperations(onEarth('FeatureServer')),
    ...layerAnalyticsOperations(onEarth('FeatureServer')),
    ...binOperations(onEarth('FeatureServer')),
    ...rendererOperations(onEarth('FeatureServer'), 'FeatureServer'),
    ...editOperations(onEarth('FeatureServer')),
    ...replicaOperations(onEarth('FeatureServer')),
    ...attachmentOperations(deps),
    ...processesOperations(deps),
    ...stylesOperations(),
  ];
  return measuring(operations, deps.visible, deps.lookAtTables);
}
