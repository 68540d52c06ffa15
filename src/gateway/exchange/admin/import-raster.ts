import Type, { type Static } from 'typebox';
import { ApiError } from '../../../core/errors/errors.js';
import type { Exchange, Reply } from '../../../core/http/operation.js';
import { json } from '../../../core/http/reply.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { parseJsonText } from '../../../core/values/json-bounds.js';
import type {
  ImportAbout,
  ImportedRaster,
  RasterImportOutcome,
} from '../../../services/catalog/rasters/import.js';
import { jobError } from '../../../services/jobs/job-error.js';
import { receiveUpload } from '../../../services/uploads/upload.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import type { ServicesOf } from '../../admin/deps.js';
import { entityTag } from '../../admin/entity-tags.js';
import {
  errorDocs,
  OptionalStringSchema,
  OptionalTimestampSchema,
  optionalTimestamp,
} from '../../admin/envelope.js';
import { createRowBuilders, type OperationRow } from '../../admin/kit.js';
import { requireLayers } from '../../admin/layer-rights.js';
import { createSubmitOptions } from '../../connections/admin/remote-imports.js';
import { duration } from '../../jobs/admin/job-views.js';
import {
  atMost,
  instant,
  parseRasterForm,
  RasterFormSchema,
  TEXT_PARTS,
} from '../../rasters/admin/raster-form.js';
import { makeTilesAhead } from '../../rasters/admin/raster-tiles.js';
import { longId, nullable } from '../../rasters/admin/registrations.js';

const SERVICES = ['access', 'catalog', 'jobs', 'rasters', 'tileJobs'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action, report } = createRowBuilders(SERVICES);

const S = Type.String();
const I = Type.Integer();

const FORMATS: Readonly<Record<string, string>> = {
  '.tif': 'GeoTIFF or cloud optimized GeoTIFF',
  '.tiff': 'GeoTIFF or cloud optimized GeoTIFF',
  '.png': 'PNG with a world file',
  '.jpg': 'JPEG with a world file',
  '.jpeg': 'JPEG with a world file',
};

/** Ordinals of formats on the wire. */
const ORDINALS: Readonly<Record<ImportAbout['format'], number>> = { GTiff: 0, PNG: 1, JPEG: 2, COG: 3 };

const Imported = Type.Object({
  success: Type.Boolean(),
  rasterId: nullable(I),
  layerId: I,
  name: S,
  format: I,
  width: I,
  height: I,
  bandCount: I,
  srid: nullable(I),
  tilesGenerated: I,
  statisticsBands: I,
  duration: S,
  errorMessage: OptionalStringSchema,
  warnings: Type.Array(S),
});

const Updated = Type.Object({
  rasterId: I,
  layerId: I,
  name: S,
  acquisitionDate: OptionalTimestampSchema,
  modifiedAt: OptionalTimestampSchema,
});

/** Members are checked by the operation itself: its 400 is a bare string. */
const Update = Type.Object({
  name: Type.Optional(S),
  description: Type.Optional(S),
  acquisitionDate: Type.Optional(S),
});

const byId = { rasterId: longId('rasterId', 'imported raster') };

/** Import of rasters. */
export const importRasterRows: readonly OperationRow[] = [
  action('POST /import/raster', 'Import Raster File', {
    description:
      'The file becomes a cloud optimized GeoTIFF with overviews and statistics in the data folder.',
    body: {
      schema: RasterFormSchema,
      mediaTypes: ['multipart/form-data'],
      required: true,
      maxBytes: LIMITS.uploadBytes,
      streamed: true,
    },
    responses: {
      200: { description: 'Imported.', content: { 'application/json': Imported } },
      ...errorDocs([400, 413, 500, 503]),
    },
    reply: upload,
  }),
  report('GET /import/raster/formats', 'Get Raster Import Formats', {
    data: Type.Object({ supportedExtensions: Type.Array(S), formatDescriptions: Type.Record(S, S) }),
    answer: () => ({ supportedExtensions: Object.keys(FORMATS), formatDescriptions: FORMATS }),
  }),
  action('PATCH /import/raster/{rasterId}', 'Update Imported Raster', {
    params: byId,
    current: currentRaster,
    body: {
      schema: Type.Unknown(),
      mediaTypes: ['application/json'],
      required: true,
      form: 'bytes',
      maxBytes: LIMITS.loopBodyBytes,
      fit: leniently,
    },
    responses: {
      200: { description: 'Changed.', content: { 'application/json': Updated } },
      400: { description: 'Why it cannot be changed.', content: { 'application/json': S } },
      ...errorDocs([404, 503]),
    },
    reply: update,
  }),
  action('DELETE /import/raster/{rasterId}', 'Delete Imported Raster', {
    params: byId,
    current: currentRaster,
    data: Type.Null(),
    status: 204,
    errors: [404, 503],
    async answer({ params, principal }, deps) {
      const { layerId } = await deps.rasters.imports.get(params.rasterId);
      requireLayers([layerId], 'write', principal, deps);
      await deps.rasters.imports.remove(params.rasterId);
    },
  }),
];

/** The members of an imported raster that requests change. */
const changeable = ({ id, name, description, acquired, modifiedAt }: ImportedRaster) => ({
  id,
  name,
  description,
  acquired,
  modifiedAt,
});

async function currentRaster({ params }: Exchange<typeof byId>, { rasters }: Deps) {
  return changeable(await rasters.imports.get(params.rasterId));
}

async function upload(x: Exchange, deps: Deps): Promise<Reply> {
  const { imports } = deps.rasters;
  const rules = {
    directory: imports.uploads,
    maxBytes: LIMITS.uploadBytes,
    extensions: new Set(Object.keys(FORMATS)),
    texts: TEXT_PARTS,
  };
  const source = { contentType: x.header('content-type'), bytes: x.upload };
  const file = await receiveUpload(source, rules).catch(asBadRequest);
  let job: JobRow;
  let zooms: number[];
  try {
    const { zooms: levels, ...form } = parseRasterForm(file.fields);
    zooms = levels;
    requireLayers([form.layerId], 'write', x.principal, deps);
    job = await imports.submit({ ...form, file: file.path }, createSubmitOptions(x));
  } catch (error) {
    // Until the job is stored, this request must remove the file.
    await imports.discard(file.path);
    throw error;
  }
  const ended = await imports.finishedForRequest(job.id, x.signal);
  if (ended.state !== 'Succeeded')
    throw jobError(ended, { input: 'invalid-request' }, `The import ended: ${ended.state}.`);
  const { rasterId } = JSON.parse(ended.result_json!) as RasterImportOutcome;
  const raster = await imports.get(rasterId);
  const tiles = await makeTilesAhead(x, deps, raster, zooms);
  return { ...json(importedView(ended, raster, tiles)), etag: entityTag(changeable(raster))! };
}

/** The contract has no 415 here. */
function asBadRequest(error: unknown): never {
  if (error instanceof ApiError && error.code === 'unsupported-media-type')
    throw new ApiError('invalid-request', error.message);
  throw error;
}

function importedView(
  job: JobRow,
  { id, layerId, name, registration, grids: [raster] }: ImportedRaster,
  tiles: { count: number; warnings: readonly string[] },
): Static<typeof Imported> {
  const bands = raster!.bands;
  return {
    success: true,
    rasterId: id,
    layerId,
    name,
    format: ORDINALS[registration.format],
    width: raster!.width,
    height: raster!.height,
    bandCount: bands.length,
    srid: raster!.epsg,
    tilesGenerated: tiles.count,
    statisticsBands: bands.filter(({ statistics }) => statistics !== undefined).length,
    duration: duration(job),
    errorMessage: null,
    warnings: [...(JSON.parse(job.warnings_json) as string[]), ...tiles.warnings],
  };
}

/** Parses JSON of any kind; undefined if it is invalid. */
function leniently(bytes: unknown): unknown {
  try {
    return parseJsonText(Buffer.from(bytes as Uint8Array).toString('utf8'));
  } catch {
    return undefined;
  }
}

async function update(x: Exchange<typeof byId>, deps: Deps): Promise<Reply> {
  const { imports } = deps.rasters;
  let change: ReturnType<typeof readChange>;
  try {
    change = readChange(x.body);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400) throw error;
    return { status: 400, mediaType: 'application/json', body: JSON.stringify(error.message) };
  }
  const before = await imports.get(x.params.rasterId);
  requireLayers([before.layerId], 'write', x.principal, deps);
  const { id, layerId, name, acquired, modifiedAt } = await imports.update(before.id, change);
  const reply: Static<typeof Updated> = {
    rasterId: id,
    layerId,
    name,
    acquisitionDate: acquired,
    modifiedAt: optionalTimestamp(modifiedAt),
  };
  return json(reply);
}

/** Members in any case; null keeps, and an empty text clears. */
function readChange(body: unknown): { name?: string; description?: string | null; acquired?: string | null } {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw refused('The body is not a JSON object.');
  const change: ReturnType<typeof readChange> = {};
  for (const [member, value] of Object.entries(body)) {
    const property = Object.keys(Update.properties).find(
      (name) => name.toLowerCase() === member.toLowerCase(),
    );
    if (property === undefined)
      throw refused(`${member.slice(0, 100)}: is not a member that can be changed.`);
    if (value === null) continue;
    if (typeof value !== 'string') throw refused(`${property}: must be a string.`);
    Object.assign(change, changedMember(property, value.trim()));
  }
  return change;
}

function changedMember(member: string, value: string) {
  if (member === 'description') return { description: atMost(member, value, 4000) || null };
  if (member === 'acquisitionDate') return { acquired: value === '' ? null : instant(member, value) };
  if (value === '') throw refused('name: must not be empty.');
  return { name: atMost(member, value, 256) };
}

function refused(message: string): ApiError {
  return new ApiError('invalid-request', message);
}
