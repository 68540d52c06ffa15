import type { Collection } from '../../core/catalog/collection.js';
import type { ServiceProtocol } from '../../core/catalog/layer-settings.js';
import type { Operation, Principal } from '../../core/http/operation.js';
import type { EditDeps } from '../../services/edits/target.js';
import { Symbols } from '../../services/styles/symbols.js';
import { type AccountDeps, accountOperations } from '../access/account/operations.js';
import { type OAuthDeps, oauthOperations } from '../access/oauth/operations.js';
import type { ReaderExportsDeps } from '../features/exports/jobs.js';
import type { ItemDeps } from '../features/item-operations.js';
import { featuresOperations } from '../features/operations.js';
import { type SubmissionOperationDeps, submissionOperations } from '../forms/submission-operation.js';
import {
  type AttachmentSurface,
  attachmentOperations,
} from '../geoservices/attachments/attachment-operations.js';
import { catalogueOperations } from '../geoservices/catalogue-operations.js';
import { layerAnalyticsOperations } from '../geoservices/features/analytics-operations.js';
import { binOperations } from '../geoservices/features/bins.js';
import { createGeoServicesEditOperations } from '../geoservices/features/edit-operations.js';
import { featureOperations } from '../geoservices/features/feature-resource.js';
import { metadataOperations } from '../geoservices/features/metadata-operations.js';
import { queryOperations } from '../geoservices/features/query-operations.js';
import { relatedOperations } from '../geoservices/features/related-operations.js';
import { serviceQueryOperations } from '../geoservices/features/service-query.js';
import { topFeatureOperations } from '../geoservices/features/top-features.js';
import { type GeocodeDeps, geocodeServerOperations } from '../geoservices/geocoding/geocode-server.js';
import { geometryServerOperations } from '../geoservices/geometry/geometry-server.js';
import { imageServerOperations } from '../geoservices/images/image-server.js';
import { rendererOperations } from '../geoservices/maps/generate-renderer.js';
import { mapServerOperations } from '../geoservices/maps/map-server.js';
import { vectorTileServerOperations } from '../geoservices/maps/vector-tile-server.js';
import { portalOperations } from '../geoservices/portal-operations.js';
import { gpServerOperations } from '../geoservices/processes/gp-server.js';
import { type ReplicaDeps, replicaOperations } from '../geoservices/replicas/replica-operations.js';
import { tokenOperation } from '../geoservices/token-operations.js';
import { mapsOperations } from '../maps/operations.js';
import type { MapsDeps } from '../maps/viewer.js';
import { type ProbeDeps, probeOperations } from '../probes/operations.js';
import { type ProcessesApiDeps, processesOperations } from '../processes/operations.js';
import { coveragesOperations } from '../rasters/operations.js';
import { type ScenesDeps, sceneOperations } from '../scenes/operations.js';
import { collectionPageOperations } from '../site/collection-pages.js';
import { SURFACES } from '../site/documents.js';
import { type SiteDeps, siteOperations } from '../site/operations.js';
import { type StacDeps, stacOperations } from '../stac/operations.js';
import { type StreamingDeps, streamingOperations } from '../streams/operations.js';
import { stylesOperations } from '../styles/operations.js';
import type { TilesDeps } from '../surface/tile-reply.js';
import { tilesOperations } from '../tiles/operations.js';
import { measuring } from './measurement.js';

export type AllSurfacesDeps = StreamingDeps &
  Omit<MapsDeps, 'symbols'> &
  TilesDeps &
  Omit<StacDeps, 'visibleEverywhere'> &
  ItemDeps &
  ReaderExportsDeps &
  EditDeps &
  ProbeDeps &
  AccountDeps &
  OAuthDeps &
  ReplicaDeps &
  ProcessesApiDeps &
  AttachmentSurface &
  GeocodeDeps &
  ScenesDeps &
  SubmissionOperationDeps &
  Omit<SiteDeps, 'surfaces'> & {
    /** Looks whether other programs wrote to tables of databases. */
    readonly lookAtTables?: (collections: readonly Collection[]) => Promise<unknown> | undefined;
  };

/** All operations of the data surfaces, the site and the probes. */
export function surfaceOperations(deps: AllSurfacesDeps): Operation[] {
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
    ...submissionOperations(deps),
    ...sceneOperations(deps),
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
    ...createGeoServicesEditOperations(onEarth('FeatureServer')),
    ...replicaOperations(onEarth('FeatureServer')),
    ...attachmentOperations(deps),
    ...processesOperations(deps),
    ...stylesOperations(),
  ];
  return measuring(operations, deps.visible, deps.lookAtTables);
}
