import Type, { type Static } from 'typebox';
import { ApiError } from '../../../core/errors/errors.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { Exchange } from '../../../core/http/operation.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { type ImportPreview, previewFile } from '../../../services/exchange/import-preview.js';
import type { UploadView } from '../../../services/exchange/uploads.js';
import type { Upload as UploadedFile } from '../../../services/uploads/upload.js';
import type { Services } from '../../admin/deps.js';
import {
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
  TimestampSchema,
  timestamp,
} from '../../admin/envelope.js';
import { timeSpan } from '../../jobs/admin/job-views.js';

/** Previews and uploads as the contract has them (§17). */

const S = Type.String();
const I = Type.Integer();

export const PreviewSchema = Type.Object({
  format: S,
  detectedSrid: Type.Union([I, Type.Null()]),
  totalFeatureCount: I,
  availableLayers: Type.Array(S),
  sampleProperties: Type.Object({}),
  warnings: Type.Array(S),
  extent: Type.Union([Type.Array(Type.Number()), Type.Null()], {
    description: 'West, south, east and north in degrees. Null if the place is unknown.',
  }),
  coordinateExtent: Type.Union([Type.Array(Type.Number()), Type.Null()], {
    description:
      'Minimum x and y, and maximum x and y, in the units of the file. Null for a file without geometries.',
  }),
  fields: Type.Array(Type.Object({ name: S, type: S }), {
    description: 'Attributes. Types of columns of text, as in CSV, are those of the first 100 features.',
  }),
  sample: Type.Object(
    { type: Type.Literal('FeatureCollection'), features: Type.Array(Type.Object({})) },
    {
      description:
        'The first 100 features in degrees (GeoJSON), with simplified geometries. Geometries are null if the place is unknown.',
    },
  ),
  crsGuesses: Type.Array(Type.Object({ crs: S, reason: S }), {
    description: 'CRSs that the coordinates and published data suggest, if the file declares none.',
  }),
  assumedCrs: Type.Union(
    [
      Type.Object({
        as: Type.Enum(['degrees', 'plane', 'guess']),
        crs: Type.Union([S, Type.Null()], { description: 'Code of a guessed CRS.' }),
      }),
      Type.Null(),
    ],
    { description: 'Assumption of an import without SourceSrid. Null if the file declares its CRS.' },
  ),
});

export const UploadSchema = Type.Object({
  uploadId: S,
  fileName: S,
  contentType: OptionalStringSchema,
  status: Type.Integer({ description: '0 Queued, 1 Processing, 2 Completed, 3 Failed, 4 Cancelled.' }),
  bytesUploaded: I,
  totalBytes: I,
  percentComplete: Type.Union([Type.Number(), Type.Null()]),
  currentPhase: OptionalStringSchema,
  startedAt: TimestampSchema,
  completedAt: OptionalTimestampSchema,
  duration: S,
  errorMessage: OptionalStringSchema,
  warnings: Type.Array(S),
  cloudFileId: OptionalStringSchema,
});

const STATUSES = ['Queued', 'Processing', 'Completed', 'Failed', 'Cancelled'] as const;

export function uploadView(upload: UploadView): Static<typeof UploadSchema> {
  const { uploadId, fileName, contentType, state, bytes, totalBytes, fraction, phase } = upload;
  return {
    uploadId,
    fileName,
    contentType,
    status: STATUSES.indexOf(state),
    bytesUploaded: bytes,
    totalBytes,
    percentComplete: fraction === null ? null : Math.round(fraction * 1000) / 10,
    currentPhase: phase,
    startedAt: timestamp(upload.startedAt),
    completedAt: optionalTimestamp(upload.completedAt),
    duration: timeSpan((upload.completedAt ?? Date.now()) - upload.startedAt),
    errorMessage: upload.error,
    warnings: [...upload.warnings],
    cloudFileId: null,
  };
}

/** Previews a file that `receive` writes to the upload folder, and removes the file. */
export async function previewReceived(
  x: Exchange,
  { imports, pools, visible }: Services<'imports' | 'pools' | 'visible'>,
  receive: () => Promise<Pick<UploadedFile, 'path' | 'fileName'>>,
): Promise<ImportPreview> {
  const file = await receive();
  try {
    const { collections: published } = visible(x.principal);
    const neighbours = imports.neighboursOf(published);
    const options = { signal: x.signal, deadlineMs: LIMITS.requestDeadlineMs, neighbours, published };
    return await previewFile(file, imports.uploads, pools, options);
  } catch (error) {
    throw describeRefusal(error);
  } finally {
    await imports.discard(file.path);
  }
}

const OF_FILE = new Set(['invalid-input', 'source-unreadable', 'no-data', 'too-large']);

/** A file that cannot be read is the client's fault. */
function describeRefusal(error: unknown): unknown {
  if (!(error instanceof TaskFailure) || !OF_FILE.has(error.code)) return error;
  return new ApiError('invalid-request', error.message, { cause: error });
}
