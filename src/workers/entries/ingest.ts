import { workerData } from 'node:worker_threads';
import type { IngestTasks, IngestWorkerData } from '../../core/exchange/ingest.js';
import { compareFeatures } from '../exchange/ingest/compare-features.js';
import { downloadCoverage, planCoverages } from '../exchange/ingest/coverages.js';
import { discoverRemote } from '../exchange/ingest/discover/index.js';
import { askGeocoder } from '../exchange/ingest/geocoder.js';
import { readGeoServer } from '../exchange/ingest/geoserver/catalog.js';
import { describeService } from '../exchange/ingest/geoservices.js';
import { listAttachments } from '../exchange/ingest/geoservices-attachments.js';
import { appendGeoServicesPage, describeLayer, listIds } from '../exchange/ingest/geoservices-features.js';
import { download, nameServer, type RemoteAccess } from '../exchange/ingest/http.js';
import { downloadObject, listObjects } from '../exchange/ingest/objects.js';
import { planItems, readItemsPage } from '../exchange/ingest/ogc-features.js';
import { collect, readPageIds } from '../exchange/ingest/pages.js';
import { describeKind } from '../exchange/ingest/service.js';
import { searchScenes } from '../exchange/ingest/stac/search.js';
import { appendRead, countWfs, downloadGml, planWfs, readWfs } from '../exchange/ingest/wfs.js';
import { fetchTiles, planWmts } from '../exchange/ingest/wmts.js';
import { AllowedHosts } from '../storage/remote/allowed-hosts.js';
import { Cancellation } from '../threads/cancellation.js';
import { runTaskBody } from '../threads/failure.js';
import type { OneThreadMessage } from '../threads/one-thread.js';

/** Thread side of requests to other servers: their responses are parsed here, on a thread without client requests. */

const { remoteHosts, serverMark } = workerData as IngestWorkerData;
const allowed = new AllowedHosts(remoteHosts);
if (serverMark !== undefined) nameServer(serverMark);

const TASKS: {
  [N in keyof IngestTasks]: (
    input: IngestTasks[N]['input'],
    asking: RemoteAccess,
  ) => Promise<IngestTasks[N]['output']>;
} = {
  'ingest.stacScenes': searchScenes,
  'ingest.geocoder': askGeocoder,
  'ingest.discover': discoverRemote,
  'ingest.service': describeKind,
  'ingest.wfsPlan': planWfs,
  'ingest.wfsCount': countWfs,
  'ingest.wfsPage': readWfs,
  'ingest.wfsGml': downloadGml,
  'ingest.compareFeatures': compareFeatures,
  'ingest.append': appendRead,
  'ingest.pageIds': readPageIds,
  'ingest.itemsPlan': planItems,
  'ingest.itemsPage': readItemsPage,
  'ingest.coveragePlan': planCoverages,
  'ingest.coverage': downloadCoverage,
  'ingest.wmtsPlan': planWmts,
  'ingest.tiles': fetchTiles,
  'ingest.geoservices': describeService,
  'ingest.geoserver': readGeoServer,
  'ingest.geoservicesLayer': describeLayer,
  'ingest.geoservicesIds': listIds,
  'ingest.geoservicesPage': appendGeoServicesPage,
  'ingest.geoservicesAttachments': listAttachments,
  'ingest.collect': collect,
  'ingest.objects': listObjects,
  'ingest.object': downloadObject,
  'ingest.download': download,
};

export default function runTask({ name, input, flag }: OneThreadMessage<keyof IngestTasks>) {
  return runTaskBody<unknown>(() =>
    TASKS[name](input as never, { allowed, cancellation: new Cancellation(flag) }),
  );
}
