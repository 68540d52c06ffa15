import Type, { type Static } from 'typebox';
import { ApiError } from '../../../core/errors/errors.js';
import type { RemoteLevel, RemoteTileSet } from '../../../core/exchange/ingest.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import type { Exchange, Reply } from '../../../core/http/operation.js';
import { json } from '../../../core/http/reply.js';
import { LIMITS } from '../../../core/kit/limits.js';
import type { ArchiveFormat } from '../../../core/tiles/archives.js';
import { remoteFailure } from '../../../services/connections/remote-failure.js';
import { countRemoteTiles, type WmtsOutcome } from '../../../services/exchange/tiles/wmts.js';
import { createCollectionId } from '../../../services/kit/slug.js';
import { parseSourceUrl } from '../../../services/uploads/remote-file.js';
import type { ServicesOf } from '../../admin/deps.js';
import { errorDocs, OptionalStringSchema } from '../../admin/envelope.js';
import { createRowBuilders, jsonBody } from '../../admin/kit.js';
import { requireReplaceable } from '../../admin/layer-rights.js';
import {
  createMemberError,
  createSubmitOptions,
  finishedOrCancelled,
} from '../../connections/admin/remote-imports.js';
import { timeSpan } from '../../jobs/admin/job-views.js';

const SERVICES = ['access', 'catalog', 'jobs', 'pools', 'sealing', 'tilesets', 'wmtsImports'] as const;
type Deps = ServicesOf<typeof SERVICES>;
const { action } = createRowBuilders(SERVICES);

const S = Type.String();
const I = Type.Integer();
const Names = Type.Optional(
  Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { minItems: 1, maxItems: 200 }),
);
const Zoom = Type.Optional(Type.Integer({ minimum: 0, maximum: LIMITS.tileZoom }));
const Edge = Type.Integer({ minimum: 0 });

/** Names of tile formats in archives. */
const FORMATS: Readonly<Record<string, ArchiveFormat>> = {
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'image/jpg': 'jpeg',
  'image/webp': 'webp',
  'application/vnd.mapbox-vector-tile': 'mvt',
  'application/vnd.maplibre-tile': 'mlt',
};

const Body = Type.Object({
  serviceUrl: Type.String({ minLength: 1, maxLength: LIMITS.urlBytes }),
  version: Type.Optional(Type.Enum(['1.0.0'])),
  layerIdentifiers: Names,
  tileMatrixSetIdentifiers: Names,
  styleIdentifier: Type.Optional(Type.String({ default: 'default', maxLength: 256 })),
  tileFormat: Type.Optional(Type.Enum(Object.keys(FORMATS), { default: 'image/png' })),
  minZoom: Zoom,
  maxZoom: Zoom,
  window: Type.Optional(
    Type.Object(
      { minColumn: Edge, maxColumn: Edge, minRow: Edge, maxRow: Edge },
      {
        description: 'Tiles of the maximum zoom level. The lower zoom levels get the tiles that cover them.',
      },
    ),
  ),
  dryRun: Type.Optional(Type.Boolean({ default: false })),
  applyMode: Type.Optional(
    Type.Boolean({ default: false, description: 'Must be true where dryRun is not.' }),
  ),
  requestTimeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 600, default: 30 })),
});
type WmtsBody = Static<typeof Body>;

const TileSet = Type.Object({
  layerIdentifier: S,
  tileMatrixSetIdentifier: S,
  classification: Type.Enum(['planned', 'exported', 'skipped', 'failed']),
  code: S,
  minZoom: I,
  maxZoom: I,
  tilesPersisted: I,
  tilesFailed: I,
  tilesAlreadyPresent: I,
  targetTileCacheId: OptionalStringSchema,
  warnings: Type.Array(S),
});
type TileSetView = Static<typeof TileSet>;

const Result = Type.Object({
  success: Type.Boolean(),
  wasDryRun: Type.Boolean(),
  sourceServiceUrl: S,
  tileSetsPlanned: I,
  tileSetsExported: I,
  tileSetsSkipped: I,
  tilesPersisted: I,
  tilesFailed: I,
  tilesAlreadyPresent: I,
  tileSets: Type.Array(TileSet),
  manifest: Type.Object({}),
  duration: S,
  errorMessage: OptionalStringSchema,
  warnings: Type.Array(S),
});

export const exportWmts = action('POST /import/ogc-tiles/export', 'Export OGC WMTS Tile Cache', {
  description:
    'Imports each tile set as a collection, completely or not at all. Tile sets with grids other than WebMercatorQuad are skipped. With dryRun, returns the plan.',
  body: jsonBody(Body),
  responses: {
    200: { description: 'The plan or the imported tile sets.', content: { 'application/json': Result } },
    ...errorDocs([400, 502, 503]),
  },
  reply: run,
});

type WmtsExchange = Exchange<Record<never, never>, WmtsBody>;

async function run(x: WmtsExchange, deps: Deps): Promise<Reply> {
  const began = Date.now();
  const { body } = x;
  const dryRun = body.dryRun ?? false;
  if (!dryRun && !body.applyMode) throw createMemberError('applyMode', 'must be true, unless dryRun is true');
  if ((body.minZoom ?? 0) > (body.maxZoom ?? LIMITS.tileZoom))
    throw createMemberError('minZoom', 'must not be above maxZoom');
  const views: TileSetView[] = [];
  for (const set of selectSets(body, await buildPlan(x, deps)))
    views.push(await buildView(x, deps, set, dryRun));
  const count = (one: string) => views.filter(({ classification }) => classification === one).length;
  const failures = views.filter(({ classification }) => classification === 'failed');
  const persisted = views.reduce((sum, { tilesPersisted }) => sum + tilesPersisted, 0);
  return json({
    success: failures.length === 0,
    wasDryRun: dryRun,
    sourceServiceUrl: body.serviceUrl,
    tileSetsPlanned: views.length,
    tileSetsExported: count('exported'),
    tileSetsSkipped: count('skipped'),
    tilesPersisted: persisted,
    tilesFailed: views.reduce((sum, { tilesFailed }) => sum + tilesFailed, 0),
    tilesAlreadyPresent: 0,
    tileSets: views,
    manifest: {
      serviceUrl: body.serviceUrl,
      tileSets: views.map(({ layerIdentifier, tileMatrixSetIdentifier, targetTileCacheId }) => ({
        layerIdentifier,
        tileMatrixSetIdentifier,
        targetTileCacheId,
      })),
    },
    duration: timeSpan(Date.now() - began),
    errorMessage:
      failures.length === 0
        ? null
        : failures
            .flatMap(({ warnings }) => warnings)
            .join('; ')
            .slice(0, 2000),
    warnings: [],
  } satisfies Static<typeof Result>);
}

function buildPlan({ body, signal, caller }: WmtsExchange, { pools }: Deps): Promise<RemoteTileSet[]> {
  const url = parseSourceUrl('serviceUrl', body.serviceUrl).href;
  const task = { url, timeoutMs: requestMs(body), version: body.version };
  return pools.run('ingest.wmtsPlan', task, { signal, caller }).catch((error: unknown) => {
    throw remoteFailure('serviceUrl', error);
  });
}

const requestMs = ({ requestTimeoutSeconds = 30 }: WmtsBody) => requestTimeoutSeconds * 1000;

function selectSets(body: WmtsBody, sets: readonly RemoteTileSet[]): RemoteTileSet[] {
  const named = (
    member: 'layerIdentifiers' | 'tileMatrixSetIdentifiers',
    of: (set: RemoteTileSet) => string,
  ) => {
    const missing = body[member]?.find((name) => !sets.some((set) => of(set) === name));
    if (missing !== undefined) throw createMemberError(member, `'${missing}' does not exist on the server`);
    return (set: RemoteTileSet) => body[member]?.includes(of(set)) ?? true;
  };
  const isLayer = named('layerIdentifiers', ({ layer }) => layer);
  const isSet = named('tileMatrixSetIdentifiers', ({ matrixSet }) => matrixSet);
  return sets.filter((set) => isLayer(set) && isSet(set));
}

async function buildView(
  x: WmtsExchange,
  deps: Deps,
  set: RemoteTileSet,
  dryRun: boolean,
): Promise<TileSetView> {
  const { body } = x;
  const levels = listLevels(body, set);
  const name = createCollectionId(set.layer);
  const view: TileSetView = {
    layerIdentifier: set.layer,
    tileMatrixSetIdentifier: set.matrixSet,
    classification: 'planned',
    code: 'ok',
    minZoom: levels[0]?.zoom ?? 0,
    maxZoom: levels.at(-1)?.zoom ?? 0,
    tilesPersisted: 0,
    tilesFailed: 0,
    tilesAlreadyPresent: 0,
    targetTileCacheId: name,
    warnings: [],
  };
  const problem = findProblem(body, set, levels) ?? (await takenProblem(deps, name));
  if (problem) return { ...view, ...problem, classification: 'skipped', targetTileCacheId: null };
  if (dryRun) return view;
  requireReplaceable([name], x.principal, deps);
  return { ...view, ...(await exportSet(x, deps, { set, levels, name })) };
}

/** The levels at the requested zooms and in the requested window. */
function listLevels({ minZoom = 0, maxZoom = LIMITS.tileZoom, window }: WmtsBody, { levels }: RemoteTileSet) {
  const inRange = levels.filter(({ zoom }) => zoom >= minZoom && zoom <= maxZoom);
  const highest = inRange.at(-1)?.zoom ?? 0;
  return inRange
    .map((level) => (window ? cut(level, window, highest) : level))
    .filter((one) => countRemoteTiles([one]) > 0);
}

function cut(level: RemoteLevel, window: NonNullable<WmtsBody['window']>, highest: number): RemoteLevel {
  const above = 2 ** (highest - level.zoom);
  return {
    ...level,
    minRow: Math.max(level.minRow, Math.floor(window.minRow / above)),
    maxRow: Math.min(level.maxRow, Math.floor(window.maxRow / above)),
    minColumn: Math.max(level.minColumn, Math.floor(window.minColumn / above)),
    maxColumn: Math.min(level.maxColumn, Math.floor(window.maxColumn / above)),
  };
}

interface Problem {
  code: string;
  warnings: string[];
}

function findProblem(
  body: WmtsBody,
  set: RemoteTileSet,
  levels: readonly RemoteLevel[],
): Problem | undefined {
  const { tileFormat = 'image/png', styleIdentifier = 'default' } = body;
  if (set.refusal !== undefined) return { code: 'unsupported-grid', warnings: [set.refusal] };
  if (set.templates[tileFormat] === undefined)
    return {
      code: 'unsupported-format',
      warnings: [`The layer has ${set.formats.join(', ') || 'no formats'}.`],
    };
  const isStyle = set.styles.length === 0 || set.styles.includes(styleIdentifier);
  if (!isStyle && styleIdentifier !== 'default')
    return { code: 'unknown-style', warnings: [`The layer has the styles ${set.styles.join(', ')}.`] };
  const tiles = countRemoteTiles(levels);
  if (tiles === 0) return { code: 'no-tiles', warnings: ['The layer has no tiles at these zooms.'] };
  if (tiles > EXCHANGE_LIMITS.remoteTiles)
    return {
      code: 'too-many-tiles',
      warnings: [
        `The selection has ${tiles} tiles, more than ${EXCHANGE_LIMITS.remoteTiles}: name a lower maxZoom.`,
      ],
    };
  return undefined;
}

async function takenProblem({ tilesets }: Deps, name: string): Promise<Problem | undefined> {
  try {
    await tilesets.refuseTakenAnywhere(name);
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { code: 'name-taken', warnings: [error.message] };
  }
}

async function exportSet(
  x: WmtsExchange,
  deps: Deps,
  { set, levels, name }: { set: RemoteTileSet; levels: RemoteLevel[]; name: string },
): Promise<Partial<TileSetView>> {
  const { tileFormat = 'image/png', styleIdentifier = 'default' } = x.body;
  // The style of a server that calls none of its styles so is the first one.
  const style = set.styles.includes(styleIdentifier) ? styleIdentifier : (set.styles[0] ?? styleIdentifier);
  const template = set.templates[tileFormat]!.replace(/\{Style\}/gi, () => encodeURIComponent(style)).replace(
    /\{Format\}/gi,
    () => encodeURIComponent(tileFormat),
  );
  const { title, description, extent84 } = set;
  const { id } = await deps.wmtsImports.submit(
    {
      name,
      title,
      description,
      extent84,
      levels,
      template,
      format: FORMATS[tileFormat]!,
      requestMs: requestMs(x.body),
      sealedHeaders: deps.sealing.seal('{}'),
    },
    createSubmitOptions(x),
  );
  const job = await finishedOrCancelled(x, deps, id);
  if (job.state !== 'Succeeded')
    return {
      classification: 'failed',
      code: job.failure_code ?? 'cancelled',
      tilesFailed: countRemoteTiles(levels),
      targetTileCacheId: null,
      warnings: [job.failure_message ?? `The export ended: ${job.state}.`],
    };
  const { persisted, absent } = JSON.parse(job.result_json!) as WmtsOutcome;
  const warnings = absent > 0 ? [`The server has no tile at ${absent} of the URLs.`] : [];
  return { classification: 'exported', tilesPersisted: persisted, warnings };
}
