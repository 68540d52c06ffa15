import type { CatalogSnapshot, Collection } from '../../../core/catalog/collection.js';
import { groupItems } from '../../../core/values/group-items.js';
import type { CollectionUse } from '../../tiles/cache/collection-uses.js';
import type { FindingDraft, OpsRule } from '../findings/finding.js';

export interface TileRuleDeps {
  catalog(): CatalogSnapshot;
  /** Uses of all processes in the last 15 minutes, and the processes that did not report. */
  tileUses(): Promise<{
    readonly answers: readonly (readonly CollectionUse[])[];
    readonly missing: readonly string[];
  }>;
}

/** Rendered tiles from which a collection counts, and the part of the requests that they are. */
const MADE = 50;
const MADE_PART = 0.5;
/** Milliseconds that the rendering of these tiles took from which it is worth to render them before. */
const WORTHWHILE_MS = 2000;
/** Factor by which a zoom has more tiles than the one before. */
const GROWTH = 4;
/** Maximum number of tiles of one proposal. The number assumes a collection that covers the world. */
const MOST_TILES = GROWTH ** 9;

/** Collections whose tiles are rendered again and again. */
export function createTileRules({ catalog, tileUses }: TileRuleDeps): OpsRule[] {
  return [
    {
      name: 'tile-cache-cold',
      async inspect() {
        const { answers, missing } = await tileUses();
        const uses = groupItems(answers.flat(), ({ layerId, set, format }) => `${layerId}/${set}/${format}`);
        const byLayer = new Map(catalog().collections.map((one) => [one.layerId, one]));
        return {
          findings: [...uses.values()].flatMap((same) => {
            const sum = same.reduce(add);
            const collection = byLayer.get(sum.layerId);
            return collection && isCold(sum) ? [describe(sum, collection)] : [];
          }),
          silent: missing,
        };
      },
    },
  ];
}

function isCold({ hits, made, madeMs }: CollectionUse): boolean {
  return made >= MADE && made / (hits + made) >= MADE_PART && madeMs >= WORTHWHILE_MS;
}

function describe(
  { set, format, hits, made, madeMs, madeByZoom }: CollectionUse,
  { id }: Collection,
): FindingDraft {
  const zooms = madeByZoom.flatMap((count, zoom) => (count > 0 ? [zoom] : []));
  const minZoom = zooms[0]!;
  const maxZoom = zooms.filter((zoom) => GROWTH ** zoom <= MOST_TILES).at(-1);
  const parameters = { collection: id, tileMatrixSetId: set, format, minZoom, maxZoom };
  return {
    subject: { targetId: `collection:${id}`, protocol: `tiles/${set}/${format}` },
    severity: 'Warning',
    title: `The tiles of ${id} are rendered for most requests`,
    explanation: `In the last 15 minutes ${made} of ${hits + made} tiles (${set}, ${format}) were rendered, in ${Math.round(madeMs / made)} ms on average. Most were at the zooms ${zooms.join(', ')}.`,
    evidenceRefs: [`collection:${id}`, 'metric:svc_tile_cache_misses_total'],
    facts: { collection: id, set, format, zooms },
    ...(maxZoom === undefined
      ? {}
      : {
          action: {
            ...({ kind: 'Seed', actuator: 'tiles.seed', isAutoSafe: true, blastRadius: 1 } as const),
            parameters,
            summary: `Render the tiles of ${id} from zoom ${minZoom} to ${maxZoom}`,
            reason: 'Later requests for these tiles find them in the cache.',
          },
        }),
  };
}

function add(one: CollectionUse, other: CollectionUse): CollectionUse {
  const length = Math.max(one.madeByZoom.length, other.madeByZoom.length);
  return {
    ...one,
    hits: one.hits + other.hits,
    made: one.made + other.made,
    madeMs: one.madeMs + other.madeMs,
    madeByZoom: Array.from(
      { length },
      (_, zoom) => (one.madeByZoom[zoom] ?? 0) + (other.madeByZoom[zoom] ?? 0),
    ),
  };
}
