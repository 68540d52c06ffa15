import Type, { type Static } from 'typebox';
import { defineIntegerParam, pathString } from '../../../core/http/params.js';
import { compareStates, SOURCE_STATES, type SourceState } from '../../../services/catalog/source-states.js';
import { OptionalStringSchema, TimestampSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, group, resource } from '../../admin/kit.js';
import { cursor, defineFilterParam, encodeCursor, enumeration } from '../../admin/params.js';
import { sourceCrsRows } from './source-crs.js';
import { requireSource } from './sources-view.js';

const { action, implement } = createRowBuilders(['sources']);

const MAX_PAGE = 1000;
const PAGE = 100;
const CURSOR = 'sources';

const Source = Type.Object({
  sourceId: Type.String({ description: 'Identifier of the source. It survives restarts.' }),
  source: Type.String({ description: 'Path of the file, or URL without password.' }),
  layer: Type.Union([Type.String(), Type.Null()], {
    description: 'Table or layer. Null for a complete source.',
  }),
  folder: Type.String({ description: 'Folder of a file; the URL of another source.' }),
  state: Type.Enum([...SOURCE_STATES]),
  collections: Type.Array(
    Type.Object({ collectionId: Type.String(), layerId: Type.Integer(), title: Type.String() }),
    { description: 'Published collections. If the source is refused: the collections that it had before.' },
  ),
  reason: OptionalStringSchema,
  remedy: OptionalStringSchema,
  assumedCrs: Type.Union(
    [
      Type.Object({
        as: Type.Enum(['degrees', 'plane', 'guess']),
        crs: Type.Union([Type.String(), Type.Null()], { description: 'Code of a guessed CRS.' }),
      }),
      Type.Null(),
    ],
    { description: 'Assumption about the CRS. Null if the data declares its CRS.' },
  ),
  seenSince: TimestampSchema,
});
const Sources = Type.Object({
  sources: Type.Array(Source),
  total: Type.Integer({ description: 'Number of sources that match the filters.' }),
  counts: Type.Object({ published: Type.Integer(), warning: Type.Integer(), refused: Type.Integer() }),
  nextCursor: OptionalStringSchema,
});

const limit = defineIntegerParam(
  'limit',
  { min: 1, max: MAX_PAGE, default: PAGE },
  { description: 'Maximum number of sources in the response.' },
);
const byId = { id: pathString('id', 'sourceId of the list.') };

function view({
  id,
  source,
  layer,
  folder,
  state,
  collections,
  reason,
  remedy,
  assumedCrs,
  seenSince,
}: SourceState): Static<typeof Source> {
  return {
    sourceId: id,
    source,
    layer: layer ?? null,
    folder,
    state,
    collections: collections.map(({ id: collectionId, layerId, title }) => ({
      collectionId,
      layerId,
      title,
    })),
    reason: reason ?? null,
    remedy: remedy ?? null,
    assumedCrs: assumedCrs ? { as: assumedCrs.as, crs: assumedCrs.crs ?? null } : null,
    seenSince: timestamp(seenSince),
  };
}

/** Whether a source contains a text, in any letter case. */
function contains({ source, layer, reason, collections }: SourceState, text: string): boolean {
  const searched = [source, layer, reason, ...collections.flatMap(({ id, title }) => [id, title])];
  return searched.some((one) => one?.toLowerCase().includes(text));
}

/** Sources of the catalog, in addition to the contract. */
export const catalogSources = group({ tag: 'Sources', scope: 'services', envelope: 'wrapped' }, [
  ...resource(
    '/sources/{id}',
    { list: 'List Sources', get: 'Get Source' },
    {
      list: implement({
        description:
          'Files and tables of the published folders and databases, in the order of their paths: published, published with a warning, or refused with the reason.',
        params: {
          state: enumeration('state', SOURCE_STATES, 'Only sources in this state.'),
          q: defineFilterParam(
            'q',
            'Text in the path, layer, reason, or in the id or title of a collection.',
          ),
          limit,
          cursor: cursor(CURSOR),
        },
        data: Sources,
        errors: [400],
        answer({ params }, { sources }) {
          const all = sources.list();
          const { state, q } = params;
          const text = q?.trim().toLowerCase();
          const hits = all.filter(
            (one) => (state === undefined || one.state === state) && (!text || contains(one, text)),
          );
          const [source, layer, id] = (params.cursor ?? []) as readonly string[];
          const after = params.cursor && { source: source!, layer: layer!, id: id! };
          const rest = after ? hits.filter((one) => compareStates(one, after) > 0) : hits;
          const page = rest.slice(0, params.limit);
          const last = page.at(-1);
          const count = (name: string) => all.filter((one) => one.state === name).length;
          return {
            sources: page.map(view),
            total: hits.length,
            counts: { published: count('published'), warning: count('warning'), refused: count('refused') },
            nextCursor:
              last && rest.length > page.length
                ? encodeCursor(CURSOR, [last.source, last.layer ?? '', last.id])
                : null,
          };
        },
      }),
      get: implement({
        params: byId,
        data: Source,
        errors: [404],
        answer({ params }, { sources }) {
          return view(requireSource(params.id, sources));
        },
      }),
    },
  ),
  action('POST /sources/{id}/retry', 'Retry Source', {
    description:
      'Reads the source again in all processes, also if it did not change. Returns its sources: one for a file, one for each table that can be read.',
    params: byId,
    data: Type.Object({ sources: Type.Array(Source) }),
    errors: [404],
    async answer({ params }, { sources }) {
      const retried = requireSource(params.id, sources);
      await sources.retry(retried);
      return {
        sources: sources
          .list()
          .filter(({ source }) => source === retried.source)
          .map(view),
      };
    },
  }),
  ...sourceCrsRows,
]);
