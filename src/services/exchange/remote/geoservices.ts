import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { GeoServicesLayer, IngestTasks, RemoteRequest } from '../../../core/exchange/ingest.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import { resourceBelow } from '../../../core/http/resource-url.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import { encodeStoredJson } from '../../../core/values/json.js';
import { findEpsgCrs } from '../../../native/crs.js';
import type { JobContext } from '../../jobs/kinds.js';
import { FETCHED } from '../import.js';
import type { FetchedFile, RemoteInput, RemoteKind } from '../import-input.js';
import type { AttachmentImport } from './geoservices-attachments.js';
import type { GeoServicesSettings } from './geoservices-settings.js';
import type {
  GeoServicesLayerNotes,
  GeoServicesReport,
  GeoServicesSource,
  ImportColumn,
} from './geoservices-source.js';
import { askAgain } from './retries.js';
import { requestWith, type SecretSource } from './secret-references.js';

export const GEOSERVICES = 'import-geoservices';

type Context = JobContext<RemoteInput<GeoServicesSource>>;

const FEATURES = 'features.geojsonl';
const IDS = 'ids';

/** Import of a layer of GeoServices: its features by their object ids, some at a time. */
export function geoServices(
  pools: Pick<Pools, 'run'>,
  secrets: SecretSource,
  settings: GeoServicesSettings,
  attachments: AttachmentImport,
): RemoteKind<GeoServicesSource> {
  return {
    kind: GEOSERVICES,
    title: 'Import a layer of GeoServices',
    goesOn: true,
    async fetch(context, folder) {
      const request = await requestFor(context.input.remote, secrets);
      return new LayerReader(pools, context, folder, request).run();
    },
    precede: ({ input }) => settings.place(input),
    withdraw: (input) => settings.withdraw(input),
    follow: (context, _report, folder) => settings.take(context, folder),
    async attach(context, report, folder) {
      const request = await requestFor(context.input.remote, secrets);
      (report as GeoServicesReport).attachments = await attachments.run(context, folder, request);
    },
  };
}

async function requestFor(
  { serviceUrl, layerId, requestMs, credentials }: GeoServicesSource,
  secrets: SecretSource,
): Promise<RemoteRequest> {
  return requestWith(new URL(resourceBelow(serviceUrl, layerId)), credentials, requestMs, secrets);
}

class LayerReader {
  readonly #source: GeoServicesSource;
  readonly #output: string;
  readonly #idsPath: string;

  constructor(
    private readonly pools: Pick<Pools, 'run'>,
    private readonly context: Context,
    private readonly folder: string,
    private readonly request: RemoteRequest,
  ) {
    this.#source = context.input.remote;
    this.#output = join(folder, FEATURES);
    this.#idsPath = join(folder, IDS);
  }

  async run(): Promise<FetchedFile> {
    const { where } = this.#source;
    const layer = await this.#ask('ingest.geoservicesLayer', { ...this.request, where });
    const columns = this.#columnsOf(layer);
    const report =
      (this.context.saved as GeoServicesReport | undefined) ?? (await this.#begin(layer, columns));
    const srid = this.#sridOf(layer);
    await this.#readPages(layer, columns, srid, report);
    await writeFile(
      join(this.folder, 'layer.json'),
      encodeStoredJson({ layer, columns } satisfies GeoServicesLayerNotes),
    );
    return { path: await this.#writeTyped(layer, columns, srid), title: layer.name.slice(0, 200), report };
  }

  /** Lists the feature ids. A run after a crash continues with the same ids. */
  async #begin(layer: GeoServicesLayer, columns: readonly ImportColumn[]): Promise<GeoServicesReport> {
    const { count: matched, name: layerName, objectIdField } = layer;
    if (matched === 0)
      throw wrong('No feature of the layer passes the filter, so there is nothing to import.');
    if (matched > EXCHANGE_LIMITS.importFeatures)
      throw new TaskFailure(
        'too-large',
        `The layer has more than ${EXCHANGE_LIMITS.importFeatures} features.`,
      );
    const { where } = this.#source;
    const task = { ...this.request, where, objectIdField, idsPath: this.#idsPath };
    const ids = await this.#ask('ingest.geoservicesIds', task);
    if (ids !== matched) throw wrong(`The server counts ${matched} features, and lists the ids of ${ids}.`);
    const report: GeoServicesReport = {
      layerName,
      features: 0,
      matched,
      batches: 0,
      totalBatches: Math.ceil(ids / this.#batchSize(layer)),
      fields: columns.map(({ name }) => name),
      relationships: layer.relationships.flatMap((one) =>
        columns.flatMap(({ name, field }) => (field === one.keyField ? { ...one, keyField: name } : [])),
      ),
      offset: 0,
    };
    await this.context.checkpoint(report);
    return report;
  }

  #batchSize({ maxRecordCount }: GeoServicesLayer): number {
    return Math.min(
      this.#source.batchSize ?? EXCHANGE_LIMITS.geoServicesBatch,
      maxRecordCount,
      EXCHANGE_LIMITS.geoServicesBatch,
    );
  }

  async #readPages(
    layer: GeoServicesLayer,
    columns: readonly ImportColumn[],
    srid: number,
    report: GeoServicesReport,
  ): Promise<void> {
    const { objectIdField, geometryType, hasZ, isTable } = layer;
    const rows = { objectIdField, geometryType, hasZ, srid, isTable };
    const fixed = { ...this.request, idsPath: this.#idsPath, ...rows };
    while (report.features < report.matched) {
      const task = { ...fixed, columns, output: this.#output, offset: report.offset };
      const count = Math.min(this.#batchSize(layer), report.matched - report.features);
      const page = await this.#ask('ingest.geoservicesPage', { ...task, from: report.features, count });
      report.offset = page.offset;
      report.features += page.count;
      report.batches++;
      report.totalBatches = Math.max(report.totalBatches, report.batches);
      this.context.progress((FETCHED * report.features) / report.matched);
      await this.context.checkpoint(report);
    }
  }

  #ask<N extends keyof IngestTasks>(
    name: N,
    input: IngestTasks[N]['input'],
  ): Promise<IngestTasks[N]['output']> {
    return askAgain(this.pools, this.context, this.#source.maxRetries, name, input);
  }

  /** The layer's CRS if PROJ can transform it. Otherwise the server transforms the data. */
  #sridOf({ srid }: GeoServicesLayer): number {
    return srid !== undefined && findEpsgCrs(srid) ? srid : this.#source.targetSrid;
  }

  #columnsOf({ fields, objectIdField }: GeoServicesLayer): ImportColumn[] {
    const { fields: names } = this.#source;
    const missing = names?.find((name) => !fields.some((field) => field.name === name));
    if (missing !== undefined) throw wrong(`The layer has no field ${missing}.`);
    const choice = names ? fields.filter(({ name }) => names.includes(name)) : fields;
    return choice.map(({ name, type }) => ({
      name: RESERVED.test(name) ? `${name}_${name === objectIdField ? 'id' : 'value'}` : name,
      field: name,
      type,
    }));
  }

  /** Writes a GeoPackage with the types that the layer declares, because JSON does not contain them. */
  async #writeTyped(
    layer: GeoServicesLayer,
    columns: readonly ImportColumn[],
    srid: number,
  ): Promise<string> {
    const output = join(this.folder, 'layer.gpkg');
    const collection = join(this.folder, 'features.geojson');
    await rm(output, { force: true });
    await this.pools.run('ingest.collect', { path: this.#output, output: collection }, this.context);
    const { geometryType, hasZ } = layer;
    const draft = {
      fields: columns.map(({ name, type }) => ({ name, type })),
      geometryType,
      hasZ,
      isEmpty: false,
    };
    const task = { path: collection, output, format: 'GPKG' as const, table: 'layer', draft };
    const translation = { ...task, sourceCrs: `EPSG:${srid}` };
    const { notes = [] } = await this.pools.run('ogr.translate', translation, this.context);
    for (const note of notes) await this.context.warn(note);
    return output;
  }
}

/** Names that OGR and GeoPackage use themselves. */
const RESERVED = /^(fid|geom|ogr_geometry|ogr_style|ogr_geom_wkt|ogr_geom_area)$/i;

function wrong(message: string): TaskFailure {
  return new TaskFailure('source-unreadable', message);
}
