import Type, { type Static } from 'typebox';
import { isLayerNumber } from '../../../core/access/access.js';
import { ApiError } from '../../../core/errors/errors.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import { MLT_FORMAT, MVT_FORMAT } from '../../../core/http/media.js';
import type { Exchange, Reply } from '../../../core/http/operation.js';
import { defineTextParam } from '../../../core/http/params.js';
import { json } from '../../../core/http/reply.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { isVectorArchive } from '../../../core/tiles/archives.js';
import { PACKAGE_ENDINGS, type TilePackage } from '../../../core/tiles/tile-packages.js';
import {
  type PackageInput,
  type PackageOutcome,
  selectedParts,
} from '../../../services/exchange/tiles/packages.js';
import { type ClientFaults, failureError, jobError } from '../../../services/jobs/job-error.js';
import { receiveBody } from '../../../services/uploads/receive-body.js';
import type { ServicesOf } from '../../admin/deps.js';
import { errorDocs, OptionalStringSchema } from '../../admin/envelope.js';
import { createRowBuilders } from '../../admin/kit.js';
import { requireReplaceable } from '../../admin/layer-rights.js';
import { createSubmitOptions, finishedOrCancelled } from '../../connections/admin/remote-imports.js';

const SERVICES = ['access', 'catalog', 'imports', 'jobs', 'settle', 'tilePackages', 'tilesets'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action } = createRowBuilders(SERVICES);

const S = Type.String();
const I = Type.Integer();

const Imported = Type.Object({
  success: Type.Boolean(),
  dryRun: Type.Boolean(),
  tileCacheId: OptionalStringSchema,
  tileMatrixSet: S,
  dataType: Type.Enum(['raster', 'vector']),
  storageFormat: S,
  contentType: S,
  minZoom: I,
  maxZoom: I,
  tilesImported: I,
  tilesSkipped: I,
  serveUrl: OptionalStringSchema,
});

const CONTENT_TYPES: Readonly<Record<TilePackage['format'], string>> = {
  mvt: MVT_FORMAT.mediaType,
  mlt: MLT_FORMAT.mediaType,
  png: 'image/png',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
};

const ID = /^[a-z0-9_]+(-[a-z0-9_]+)*$/;
const ID_LENGTH = 64;

/** Parameters are read by the operation itself: its 400 is a bare string. */
const params = {
  tilesetId: defineTextParam('tilesetId', {
    description: 'Id of the collection that the tiles become: lower case letters, digits, _ and -.',
  }),
  fileName: defineTextParam('fileName', {
    description: `File name; its extension is the format: ${PACKAGE_ENDINGS.join(', ')}. Default: .tpkx.`,
  }),
  minZoom: defineTextParam('minZoom', { description: 'The lowest zoom to import.' }, { schema: I }),
  maxZoom: defineTextParam('maxZoom', { description: 'The highest zoom to import.' }, { schema: I }),
  dryRun: defineTextParam(
    'dryRun',
    { description: 'Whether the import only returns its plan.' },
    { schema: Type.Boolean() },
  ),
};

type PackageExchange = Exchange<typeof params>;

export const importTilePackage = action('POST /import/tile-package', 'Import Tile Cache Package', {
  description:
    'Imports the tiles as a collection, or replaces the tileset that was imported with the same id. The tile grid must be WebMercatorQuad.',
  params,
  body: {
    schema: Type.String({ format: 'binary' }),
    mediaTypes: ['application/octet-stream'],
    required: true,
    maxBytes: EXCHANGE_LIMITS.tilePackageBytes,
    streamed: true,
  },
  responses: {
    200: { description: 'The imported tiles, or the plan.', content: { 'application/json': Imported } },
    400: { description: 'The reason why the import failed.', content: { 'application/json': S } },
    ...errorDocs([413, 503, 507]),
  },
  reply: importPackage,
});

async function importPackage(x: PackageExchange, deps: Deps): Promise<Reply> {
  try {
    return json(await importTiles(x, deps));
  } catch (error) {
    const failure = error instanceof ApiError ? error : undefined;
    if (failure?.status !== 400 && failure?.status !== 409) throw error;
    return { status: 400, mediaType: 'application/json', body: JSON.stringify(failure.message) };
  }
}

interface Request extends Omit<PackageInput, 'file'> {
  ending: string;
  dryRun: boolean;
}

function parseRequest({ tilesetId, fileName, minZoom, maxZoom, dryRun }: PackageExchange['params']): Request {
  if (tilesetId === undefined || tilesetId.length > ID_LENGTH || !ID.test(tilesetId))
    throw wrong(`tilesetId: must be 1 to ${ID_LENGTH} lower-case letters, digits, underscores and hyphens.`);
  if (isLayerNumber(tilesetId))
    throw wrong(`tilesetId: '${tilesetId}' could be the number of another layer. Add a letter to it.`);
  const name = (fileName ?? 'package.tpkx').toLowerCase();
  const ending = PACKAGE_ENDINGS.find((one) => name.endsWith(one));
  if (!ending) throw wrong(`fileName: must end with one of ${PACKAGE_ENDINGS.join(', ')}.`);
  const [lowest, highest] = [
    parseZoom('minZoom', minZoom, 0),
    parseZoom('maxZoom', maxZoom, LIMITS.tileZoom),
  ];
  if (lowest > highest) throw wrong('minZoom: must not be above maxZoom.');
  if (dryRun !== undefined && !/^(true|false)$/i.test(dryRun)) throw wrong('dryRun: must be true or false.');
  const isTried = dryRun?.toLowerCase() === 'true';
  return { name: tilesetId, ending, minZoom: lowest, maxZoom: highest, dryRun: isTried };
}

function parseZoom(name: string, raw: string | undefined, usual: number): number {
  if (raw === undefined) return usual;
  if (!/^\d{1,2}$/.test(raw) || Number(raw) > LIMITS.tileZoom)
    throw wrong(`${name}: must be an integer from 0 to ${LIMITS.tileZoom}.`);
  return Number(raw);
}

async function importTiles(x: PackageExchange, deps: Deps): Promise<Static<typeof Imported>> {
  const { ending, dryRun, ...input } = parseRequest(x.params);
  const { tilePackages, tilesets, imports } = deps;
  await tilesets.refuseTakenAnywhere(input.name);
  requireReplaceable([input.name], x.principal, deps);
  const rules = { directory: imports.uploads, ending, maxBytes: EXCHANGE_LIMITS.tilePackageBytes };
  const { path } = await receiveBody(x.upload, rules);
  if (dryRun) return tryPackage(x, deps, input, path);
  const { id } = await tilePackages
    .submit({ ...input, file: path }, createSubmitOptions(x))
    .catch(async (error) => {
      await imports.discard(path);
      throw error;
    });
  const job = await finishedOrCancelled(x, deps, id);
  if (job.state !== 'Succeeded') throw jobError(job, FAULTS, `The import ended: ${job.state}.`);
  await deps.settle();
  return view(input.name, JSON.parse(job.result_json!) as PackageOutcome, deps);
}

/** Reports what an import would find, and removes the file. */
async function tryPackage(
  { signal }: PackageExchange,
  { tilePackages, imports }: Deps,
  input: Omit<Request, 'ending' | 'dryRun'>,
  path: string,
): Promise<Static<typeof Imported>> {
  try {
    const contents = await tilePackages.read(path, signal);
    const { parts, ...selection } = selectedParts(contents, input);
    return { ...about({ ...contents, ...selection }), dryRun: true, tileCacheId: null, serveUrl: null };
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    throw failureError(code ?? '', message, FAULTS, error);
  } finally {
    await imports.discard(path);
  }
}

function view(name: string, outcome: PackageOutcome, { tilesets }: Deps): Static<typeof Imported> {
  const layerId = tilesets.collectionOf(name)?.layerId;
  const serveUrl = layerId === undefined ? null : `/ogc/tiles/collections/${layerId}/tiles/WebMercatorQuad`;
  return { ...about(outcome), dryRun: false, tileCacheId: name, serveUrl };
}

function about({ format, storageFormat, minZoom, maxZoom, imported, skipped }: PackageOutcome) {
  return {
    success: true,
    tileMatrixSet: 'WebMercatorQuad',
    dataType: isVectorArchive(format) ? ('vector' as const) : ('raster' as const),
    storageFormat,
    contentType: CONTENT_TYPES[format],
    minZoom,
    maxZoom,
    tilesImported: imported,
    tilesSkipped: skipped,
  };
}

/** Codes for faults of the package, which the client sent. */
const FAULTS: ClientFaults = { input: 'invalid-request', size: 'payload-too-large' };

function wrong(message: string): ApiError {
  return new ApiError('invalid-request', message);
}
