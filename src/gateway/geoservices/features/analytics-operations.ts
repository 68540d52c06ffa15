import Type, { type TObject } from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import type { FeatureSetResult } from '../../../core/features/analytics.js';
import {
  BufferAggregateBody,
  ClustersBody,
  DensityBody,
  SpatialJoinBody,
} from '../../../core/features/analytics-bodies.js';
import { defineOperation, type Exchange, type Operation, type Reply } from '../../../core/http/operation.js';
import { stringifyExactly } from '../../../core/values/json.js';
import {
  type Analysis,
  type AnalyticsDeps,
  licensedView,
  requestBufferAggregate,
  requestClusters,
  requestDensity,
  requestH3Cells,
  requestSpatialJoin,
  type Subject,
} from '../../../services/features/analytics/analyses.js';
import { integerWithin } from '../../../services/features/analytics/members.js';
import { findView, numberedView } from '../../../services/features/view.js';
import { requireLayer } from '../../../services/replicas/layer-view.js';
import { analyticsBody, analyticsReply } from '../../surface/analytics.js';
import { textReply } from '../images/in-band.js';
import { type Members, readChoiceMember, readTextMember, wholeNumber } from '../members.js';
import { common, FORM_TYPES, readingOperation, SERVER } from './feature-server.js';
import { member } from './query-members.js';
import { layerParams } from './query-operations.js';

/** Analytics of layers: those of OGC API Features, as feature sets in WGS 84. */

const LAYER = `/rest/services/{serviceId}/${SERVER}/{layerId}`;
const FORMATS = ['json', 'pjson', 'geojson'] as const;
const MAX_TEXT = 8000;

type Format = (typeof FORMATS)[number];
type Path = Readonly<Record<string, string>>;

export function layerAnalyticsOperations(deps: AnalyticsDeps): Operation[] {
  return [
    ...h3Operations(deps),
    posted(deps, {
      name: 'queryClusters',
      summary: 'Clusters of features',
      schema: ClustersBody,
      run: requestClusters,
    }),
    posted(deps, {
      name: 'spatialJoin',
      summary: 'Features with what they meet in another layer',
      schema: SpatialJoinBody,
      run: requestSpatialJoin,
    }),
    posted(deps, {
      name: 'queryBufferAggregate',
      summary: 'Buffers of features, dissolved by groups',
      schema: BufferAggregateBody,
      run: requestBufferAggregate,
    }),
    posted(deps, {
      name: 'queryDensity',
      summary: 'Count features by cells of a grid',
      schema: DensityBody,
      run: requestDensity,
    }),
  ];
}

function h3Operations(deps: AnalyticsDeps): Operation[] {
  return readingOperation({
    about: common(SERVER, 'queryH3'),
    name: 'queryH3',
    path: `${LAYER}/queryH3`,
    pathParams: layerParams,
    params: {
      resolution: member('resolution', 'Resolution of the cells: 0 to 15.'),
      where: member('where', 'SQL condition.'),
      outStatistics: member('outStatistics', 'Statistics of each cell, as JSON.'),
    },
    summary: 'Count features by H3 cells',
    async run(x, path, members) {
      if (members['kRingDistance']) throw badParameter('kRingDistance', 'is not supported');
      const format = formatFormat(members);
      const analysis = await requestH3Cells(buildSubject(deps, x, path, { format, isFree: true }), {
        resolution: integerWithin('resolution', readTextMember(members, 'resolution', MAX_TEXT), 0, 15),
        where: readTextMember(members, 'where', MAX_TEXT),
        outStatistics: readTextMember(members, 'outStatistics', MAX_TEXT),
      });
      return buildReply(analysis, format);
    },
  });
}

interface AnalysisRoute<S extends TObject> {
  readonly name: string;
  readonly summary: string;
  readonly schema: S;
  run(subject: Subject, body: Type.Static<S>): Promise<Analysis>;
}

function posted<S extends TObject>(
  deps: AnalyticsDeps,
  { name, summary, schema, run }: AnalysisRoute<S>,
): Operation {
  // Clients send more than there is, their token among it.
  const open = Type.Object(schema.properties) as unknown as S;
  const body = { ...analyticsBody(open), mediaTypes: ['application/json', ...FORM_TYPES] };
  return defineOperation({
    ...common(SERVER, name),
    ...({ method: 'POST', params: layerParams, body } as const),
    id: `geoservices.${name}`,
    path: `${LAYER}/${name}`,
    summary,
    async run(x) {
      const format = formatFormat(x.body as Members);
      return buildReply(await run(buildSubject(deps, x, x.params as Path, { format }), x.body), format);
    },
  });
}

const formatFormat = (members: Members) =>
  readChoiceMember<Format>(members, 'f', { values: FORMATS, fallback: 'json' });

/** Throws 402, but not for H3, and 404. */
function buildSubject(
  deps: AnalyticsDeps,
  x: Exchange,
  { serviceId, layerId }: Path,
  { format, isFree = false }: { format: Format; isFree?: boolean },
): Subject {
  const address = { service: serviceId!, layerId: wholeNumber('layerId', layerId), parameter: 'layerId' };
  const { id } = requireLayer(deps, x.principal, address);
  const view = isFree ? findView(deps, x.principal, id) : licensedView(deps, x.principal, id);
  return { deps, x, view: numberedView(view), asFeatureSet: format !== 'geojson' };
}

function buildReply(analysis: Analysis, format: Format): Reply {
  if (format === 'geojson') return analyticsReply(analysis);
  const { features, fields, geometryType, inputTruncated, resultTruncated } =
    analysis.result as FeatureSetResult;
  const head = {
    ...(geometryType === undefined ? {} : { geometryType }),
    spatialReference: { wkid: 4326, latestWkid: 4326 },
    fields,
    exceededTransferLimit: inputTruncated || resultTruncated,
  };
  const text = Buffer.from(features).toString();
  return textReply(`${stringifyExactly(head).slice(0, -1)},"features":[${text}]}`);
}
