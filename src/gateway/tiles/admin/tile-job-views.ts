import Type, { type Static } from 'typebox';
import type { CatalogSnapshot } from '../../../core/catalog/collection.js';
import { ARCHIVE_MEDIA_TYPES } from '../../../core/tiles/archives.js';
import type { TileJobInput } from '../../../services/tiles/jobs/input.js';
import type { TileJobState } from '../../../services/tiles/jobs/service.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { duration, percent, statusOrdinal } from '../../jobs/admin/job-views.js';
import { downloadPath } from './tile-download.js';

/** Tile jobs as the wire has them. */

const S = Type.String();
const I = Type.Integer();
const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()]);

const PublishedArtifact = Type.Object({
  ArtifactId: S,
  AccessUrl: S,
  AccessUrlExpiresAt: Type.Null(),
  Bucket: S,
  ObjectKey: S,
  ContentType: S,
  SizeBytes: I,
  MinZoom: I,
  MaxZoom: I,
  Bounds: nullable(Type.Array(Type.Number())),
  LayerId: nullable(I),
  ServiceId: OptionalStringSchema,
  StorageProvider: I,
  UrlStrategy: I,
  PublishedAt: TimestampSchema,
});

export const TileJob = Type.Object({
  JobId: S,
  Operation: S,
  Status: Type.Integer({ minimum: 0, maximum: 4 }),
  LayerId: nullable(I),
  ServiceId: OptionalStringSchema,
  TileMatrixSetId: OptionalStringSchema,
  TotalTiles: I,
  ProcessedTiles: I,
  SuccessfulTiles: I,
  FailedTiles: I,
  PercentComplete: nullable(Type.Number()),
  CurrentPhase: OptionalStringSchema,
  StartedAt: TimestampSchema,
  CompletedAt: OptionalTimestampSchema,
  Duration: S,
  ErrorMessage: OptionalStringSchema,
  Warnings: Type.Array(S),
  ArchiveFileId: OptionalStringSchema,
  ArchiveSizeBytes: I,
  DownloadUrl: OptionalStringSchema,
  PublishedArtifact: nullable(PublishedArtifact),
});

/** Storage of this server itself, reached by plain addresses that do not expire. */
const LOCAL_STORAGE = 0;
const PUBLIC_URL = 0;
const BUCKET = 'published';

export function tileJobView(job: JobRow, catalog: CatalogSnapshot): Static<typeof TileJob> {
  const input = JSON.parse(job.input_json) as TileJobInput;
  const state = JSON.parse(job.result_json ?? job.checkpoint_json ?? '{}') as TileJobState;
  const { tally, dropped = 0 } = state;
  const archive = job.state === 'Succeeded' ? state.archive : undefined;
  return {
    JobId: job.id,
    Operation: input.operation,
    Status: statusOrdinal(job),
    LayerId: input.layerId ?? null,
    ServiceId: input.serviceId ?? null,
    TileMatrixSetId: input.tileMatrixSetId,
    TotalTiles: tally?.total ?? dropped,
    ProcessedTiles: tally?.processed ?? dropped,
    SuccessfulTiles: tally ? tally.processed - tally.failed : dropped,
    FailedTiles: tally?.failed ?? 0,
    PercentComplete: percent(job),
    CurrentPhase: findPhase(job, state),
    StartedAt: timestamp(job.started_at ?? job.created_at),
    CompletedAt: optionalTimestamp(job.completed_at),
    Duration: duration(job),
    ErrorMessage: job.failure_message,
    Warnings: JSON.parse(job.warnings_json) as string[],
    ArchiveFileId: archive ? job.id : null,
    ArchiveSizeBytes: archive?.bytes ?? 0,
    DownloadUrl: archive ? downloadPath(job.id) : null,
    PublishedArtifact:
      archive && input.operation === 'publish' ? published(job, input, archive, catalog) : null,
  };
}

/** The phase with what there is no member for: the rate, and the time left. */
function findPhase(job: JobRow, { rate }: TileJobState): string | null {
  if (job.state !== 'Running' || job.phase === null || rate === undefined) return job.phase;
  const left = job.eta_ms === null ? '' : `, ${Math.ceil(job.eta_ms / 1000)} s left`;
  return `${job.phase}: ${rate} tiles/s${left}`;
}

function published(
  job: JobRow,
  input: TileJobInput,
  { path, bytes }: { path: string; bytes: number },
  catalog: CatalogSnapshot,
): Static<typeof PublishedArtifact> {
  const collection = catalog.collections.find(({ file }) => file === path);
  const tiles = collection ? `/${collection.layerId}/tiles/${input.tileMatrixSetId}` : '';
  return {
    ArtifactId: collection?.id ?? job.id,
    AccessUrl: `/ogc/tiles/collections${tiles}`,
    AccessUrlExpiresAt: null,
    Bucket: BUCKET,
    ObjectKey: path.slice(path.lastIndexOf('/') + 1),
    ContentType: ARCHIVE_MEDIA_TYPES[input.container],
    SizeBytes: bytes,
    MinZoom: input.minZoom,
    MaxZoom: input.maxZoom,
    Bounds: collection?.extent84 ? [...collection.extent84] : null,
    LayerId: collection?.layerId ?? null,
    ServiceId: collection?.id ?? null,
    StorageProvider: LOCAL_STORAGE,
    UrlStrategy: PUBLIC_URL,
    PublishedAt: timestamp(job.completed_at ?? job.updated_at),
  };
}
