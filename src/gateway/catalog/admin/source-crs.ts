import Type, { type Static } from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import type { CrsEntry } from '../../../core/geometry/crs.js';
import { formatActor, type Param } from '../../../core/http/operation.js';
import { defineIntegerParam, defineTextParam, pathString } from '../../../core/http/params.js';
import type { CrsPreview, SourceCrsView } from '../../../services/catalog/crs/source-crs.js';
import type { SourceState } from '../../../services/catalog/source-states.js';
import { OptionalStringSchema, timestamp } from '../../admin/envelope.js';
import { createRowBuilders, jsonBody, type OperationRow, resource } from '../../admin/kit.js';
import { requireSource } from './sources-view.js';

const { implement, report } = createRowBuilders(['sources', 'sourceCrs', 'crsList', 'visible']);

/** Operations on the CRSs of sources, in addition to the contract. */

const MAX_HITS = 100;
const HITS = 20;
const MAX_CRS_LENGTH = 4096;

const BoxSchema = Type.Union([Type.Array(Type.Number()), Type.Null()]);

const Entry = Type.Object({
  crs: Type.String({ description: 'Code, such as EPSG:27700.' }),
  name: Type.String(),
  area: Type.String({ description: 'Area of use.' }),
  isGeographic: Type.Boolean({ description: 'Whether the coordinates are degrees.' }),
  areaOfUse: Type.Union([Type.Array(Type.Number()), Type.Null()], {
    description: 'West, south, east and north in degrees.',
  }),
});
const Entries = Type.Object({
  systems: Type.Array(Entry),
  total: Type.Integer({ description: 'Number of CRSs that match.' }),
});

const SourceCrsSchema = Type.Object({
  sourceId: Type.String(),
  source: Type.String({ description: 'Path of the file, or URL without password.' }),
  layer: OptionalStringSchema,
  crs: Type.Union([Type.String(), Type.Null()], {
    description: 'Code or definition of the CRS in use. Null if the source is not published.',
  }),
  name: OptionalStringSchema,
  origin: Type.Enum(['data', 'configuration', 'chosen', 'assumed', 'none'], {
    description:
      'data: declared by the data. configuration: data.crs. chosen: set by PUT. assumed: no CRS is declared. none: the source is not published.',
  }),
  chosen: Type.Union([
    Type.Object({ crs: Type.String(), setAt: Type.String(), setBy: OptionalStringSchema }),
    Type.Null(),
  ]),
  configuredBy: Type.Union([Type.String(), Type.Null()], {
    description: 'Entry of data.crs that assigns the CRS. Null if there is none.',
  }),
  extent: Type.Union([Type.Array(Type.Number()), Type.Null()], {
    description: 'Extent of the coordinates in their own units: minimum x and y, maximum x and y.',
  }),
  warning: Type.Union([Type.String(), Type.Null()], {
    description: 'Warning if the data is outside the area of use of the CRS.',
  }),
  guesses: Type.Array(Type.Object({ crs: Type.String(), name: Type.String(), reason: Type.String() }), {
    description: 'CRSs that the coordinates and the neighbouring data suggest, best first.',
  }),
});
const Body = Type.Object({
  crs: Type.String({
    minLength: 1,
    maxLength: MAX_CRS_LENGTH,
    description:
      'Code, WKT or PROJ string; `local` for vector data in local units, without a position on Earth.',
  }),
});

const Preview = Type.Object({
  type: Type.Literal('FeatureCollection'),
  features: Type.Array(Type.Object({})),
  isSample: Type.Boolean({ description: 'Whether the features are a sample.' }),
  extent: Type.Union([Type.Array(Type.Number()), Type.Null()], {
    description: 'Extent in degrees. Null if the coordinates are not on Earth in this CRS.',
  }),
  crsName: Type.String(),
  area: OptionalStringSchema,
  areaOfUse: BoxSchema,
  isInArea: Type.Union([Type.Boolean(), Type.Null()], {
    description: 'Whether the extent overlaps the area of use. Null if the CRS has no area of use.',
  }),
});

const byId = { id: pathString('id', 'sourceId of the list of sources.') };
const crs: Param<string> = {
  name: 'crs',
  in: 'query',
  required: true,
  description: 'Code such as EPSG:27700, WKT or PROJ string.',
  schema: Type.String({ minLength: 1, maxLength: MAX_CRS_LENGTH }),
  parse(raw = '') {
    if (raw.trim() === '') throw badParameter('crs', 'must be a CRS. Use a code such as EPSG:27700');
    return raw.trim();
  },
};

function viewEntry({ code, name, areaName, isGeographic, areaOfUse }: CrsEntry): Static<typeof Entry> {
  return {
    crs: `EPSG:${code}`,
    name,
    area: areaName,
    isGeographic,
    areaOfUse: areaOfUse ? [...areaOfUse] : null,
  };
}

function view(
  { id, source, layer }: SourceState,
  { crs: system, name, origin, chosen, configuredBy, extent, guesses, warning }: SourceCrsView,
): Static<typeof SourceCrsSchema> {
  return {
    sourceId: id,
    source,
    layer: layer ?? null,
    crs: system ?? null,
    name: name ?? null,
    origin,
    chosen: chosen ? { crs: chosen.crs, setAt: timestamp(chosen.at), setBy: chosen.by } : null,
    configuredBy: configuredBy ?? null,
    extent: extent ? [...extent] : null,
    warning: warning ?? null,
    guesses: guesses.map((guess) => ({ crs: guess.crs, name: guess.name, reason: guess.reason })),
  };
}

/** GeoJSON text. The features remain as the worker wrote them. */
function writePreview(preview: CrsPreview): Buffer {
  const { features, isSample, extent84, name, areaName, areaOfUse, isInArea } = preview;
  const facts = {
    isSample,
    extent: extent84 ?? null,
    crsName: name,
    area: areaName ?? null,
    areaOfUse: areaOfUse ?? null,
    isInArea: isInArea ?? null,
  };
  return Buffer.concat([
    Buffer.from('{"type":"FeatureCollection","features":['),
    Buffer.from(features),
    Buffer.from(`],${JSON.stringify(facts).slice(1)}`),
  ]);
}

export const sourceCrsRows: readonly OperationRow[] = [
  ...resource(
    '/sources/{id}/crs',
    { get: 'Get Source CRS', update: 'Choose Source CRS', remove: 'Remove Source CRS' },
    {
      get: implement({
        description:
          'CRS of a source, where it comes from, and the CRSs that the coordinates and neighbouring data suggest.',
        params: byId,
        data: SourceCrsSchema,
        errors: [404],
        async answer({ params }, { sources, sourceCrs }) {
          const source = requireSource(params.id, sources);
          return view(source, await sourceCrs.read(source));
        },
      }),
      update: implement({
        description:
          'Chooses the CRS of a file or of one of its layers. It overrides the CRS of the file, and is kept until it is removed. All processes read the file again. An entry of data.crs (--crs) cannot be changed here (409).',
        params: byId,
        body: jsonBody(Body),
        data: SourceCrsSchema,
        errors: [400, 404, 409],
        async answer({ params, body, principal }, { sources, sourceCrs }) {
          const source = requireSource(params.id, sources);
          await sourceCrs.put(source, body.crs.trim(), formatActor(principal));
          const now = sources.findSame(source);
          return view(now, await sourceCrs.read(now));
        },
      }),
      remove: implement({
        description: 'Removes the chosen CRS. The source has its declared CRS again, or an assumed one.',
        params: byId,
        data: Type.Null(),
        status: 204,
        errors: [404],
        async answer({ params }, { sources, sourceCrs }) {
          await sourceCrs.remove(requireSource(params.id, sources));
          return null;
        },
      }),
    },
  ),
  report('GET /sources/{id}/crs/preview', 'Preview Source CRS', {
    description:
      'An even sample of up to 500 features of the source in degrees (GeoJSON), as they would be with a CRS. A raster is its outline. The request changes no data.',
    params: { ...byId, crs },
    responses: {
      200: { description: 'Features in degrees.', content: { 'application/geo+json': Preview } },
    },
    errors: [400, 403, 404, 409],
    async reply({ params, principal }, { sources, sourceCrs, visible }) {
      const source = requireSource(params.id, sources);
      const preview = await sourceCrs.preview(source, params.crs, visible(principal));
      return { status: 200, mediaType: 'application/geo+json', body: writePreview(preview) };
    },
  }),
  report('GET /crs', 'Search CRSs', {
    description:
      'Geographic and projected CRSs of EPSG that are not deprecated, by words in code, name and area. Equal codes are first.',
    params: {
      q: defineTextParam(
        'q',
        { description: 'Words, for example `british grid` or `27700`.' },
        { maxLength: 200 },
      ),
      limit: defineIntegerParam(
        'limit',
        { min: 1, max: MAX_HITS, default: HITS },
        { description: 'Maximum number of CRSs in the response.' },
      ),
    },
    data: Entries,
    errors: [400],
    async answer({ params }, { crsList }) {
      const { entries, total } = await crsList.search(params.q ?? '', params.limit);
      return { systems: entries.map(viewEntry), total };
    },
  }),
];
