import { workerData } from 'node:worker_threads';
import type { IngestTasks, IngestWorkerData } from '../../core/ingest.js';
import { Cancellation } from '../cancellation.js';
import { answer } from '../failure.js';
import type { OneThreadMessage } from '../one-thread.js';
import { AllowedHosts } from '../remote/allowed.js';
import { compareFeatures } from './compare-features.js';
import { downloadCoverage, planCoverages } from './coverages.js';
import { discover } from './discover/index.js';
import { askGeocoder } from './geocoder.js';
import { readGeoServer } from './geoserver/catalog.js';
import { describeService } from './geoservices.js';
import { listAttachments } from './geoservices-attachments.js';
import { describeLayer, listIds, readPage } from './geoservices-features.js';
import { type Asking, download, nameServer } from './http.js';
import { downloadObject, listObjects } from './objects.js';
import { planItems, readItems } from './ogc-features.js';
import { collect, readPageIds } from './pages.js';
import { describeKind } from './service.js';
import { searchScenes } from './stac/search.js';
import { appendRead, countWfs, downloadGml, planWfs, readWfs } from './wfs.js';
import { fetchTiles, planWmts } from './wmts.js';

/** Thread side of what is read from other servers: their answers are parsed here, where no request waits. */

const { remoteHosts, serverMark } = workerData as IngestWorkerData;
const allowed = new AllowedHosts(remoteHosts);
if (serverMark !== undefined) nameServer(serverMark);

const TASKS: {
  [N in keyof IngestTasks]: (
    input: IngestTasks[N]['input'],
    asking: Asking,
  ) => Promise<IngestTasks[N]['output']>;
} = {
  'ingest.stacScenes': searchScenes,
  'ingest.geocoder': askGeocoder,
  'ingest.discover': discover,
  'ingest.service': describeKind,
  'ingest.wfsPlan': planWfs,
  'ingest.wfsCount': countWfs,
  'ingest.wfsPage': readWfs,
  'ingest.wfsGml': downloadGml,
  'ingest.compareFeatures': compareFeatures,
  'ingest.append': appendRead,
  'ingest.pageIds': readPageIds,
  'ingest.itemsPlan': planItems,
  'ingest.itemsPage': readItems,
  'ingest.coveragePlan': planCoverages,
  'ingest.coverage': downloadCoverage,
  'ingest.wmtsPlan': planWmts,
  'ingest.tiles': fetchTiles,
  'ingest.geoservices': describeService,
  'ingest.geoserver': readGeoServer,
  'ingest.geoservicesLayer': describeLayer,
  'ingest.geoservicesIds': listIds,
  'ingest.geoservicesPage': readPage,
  'ingest.geoservicesAttachments': listAttachments,
  'ingest.collect': collect,
  'ingest.objects': listObjects,
  'ingest.object': downloadObject,
  'ingest.download': download,
};

export default function runTask({ name, input, flag }: OneThreadMessage<keyof IngestTasks>) {
  return answer<unknown>(() =>
    TASKS[name](input as never, { allowed, cancellation: new Cancellation(flag) }),
  );
}
