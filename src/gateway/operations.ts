import type { Operation, Principal } from '../core/operation.js';
import { coveragesOperations } from './surfaces/coverages/operations.js';
import type { EditDeps } from './surfaces/features/edits/operations.js';
import type { ItemDeps } from './surfaces/features/item-operations.js';
import { featuresOperations } from './surfaces/features/operations.js';
import { mapsOperations } from './surfaces/maps/operations.js';
import type { MapsDeps } from './surfaces/maps/viewer.js';
import { type ProbeDeps, probeOperations } from './surfaces/probes/operations.js';
import { processesOperations } from './surfaces/processes/operations.js';
import { collectionPageOperations } from './surfaces/site/collection-pages.js';
import { SURFACES } from './surfaces/site/documents.js';
import { type SiteDeps, siteOperations } from './surfaces/site/operations.js';
import { type StacDeps, stacOperations } from './surfaces/stac/operations.js';
import { type StreamingDeps, streamingOperations } from './surfaces/streaming/operations.js';
import { stylesOperations } from './surfaces/styles/operations.js';
import { type TilesDeps, tilesOperations } from './surfaces/tiles/operations.js';

export type SurfaceDeps = StreamingDeps &
  MapsDeps &
  TilesDeps &
  StacDeps &
  ItemDeps &
  EditDeps &
  ProbeDeps &
  Omit<SiteDeps, 'surfaces'>;

/** Every operation of the data surfaces, the site and the probes. */
export function surfaceOperations(deps: SurfaceDeps): Operation[] {
  const onEarth = { ...deps, visible: (principal: Principal) => deps.visible(principal).onEarth };
  return [
    ...probeOperations(deps),
    ...siteOperations({ ...deps, surfaces: SURFACES }),
    ...collectionPageOperations(deps),
    ...featuresOperations(deps),
    ...tilesOperations(onEarth),
    ...mapsOperations(deps),
    ...coveragesOperations(deps),
    ...stacOperations(onEarth),
    ...streamingOperations(onEarth),
    ...processesOperations(),
    ...stylesOperations(),
  ];
}
