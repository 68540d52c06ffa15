import type { TSchema } from 'typebox';
import type { AnalyticsResult } from '../../core/features/analytics.js';
import { contentTag } from '../../core/http/content-tag.js';
import type { BodySpec, Reply } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Analysis } from '../../services/features/analytics/analyses.js';

const MEDIA_TYPE = 'application/geo+json';

/** `maxOutputRows` is present if a limit applies to the features of the response. */
export function analyticsReply({ operation, result, maxOutputRows }: Analysis): Reply {
  const metadata = {
    operation,
    inputTruncated: result.inputTruncated,
    resultTruncated: result.resultTruncated,
    maxInputFeatures: LIMITS.analyticsInput,
    ...(maxOutputRows === undefined ? {} : { maxOutputRows }),
  };
  return collection(result, { numberReturned: result.returned, metadata });
}

/** A plain collection: H3 cells have no metadata. */
export function h3Reply(result: AnalyticsResult): Reply {
  const reply = collection(result, { numberReturned: result.returned });
  return { ...reply, etag: contentTag(reply.body) };
}

function collection(
  { features }: AnalyticsResult,
  members: Record<string, unknown>,
): Reply & { body: Buffer } {
  const tail = `],${JSON.stringify(members).slice(1)}`;
  const body = Buffer.concat([
    Buffer.from('{"type":"FeatureCollection","features":['),
    features,
    Buffer.from(tail),
  ]);
  return { status: 200, mediaType: MEDIA_TYPE, body, cacheControl: 'no-cache' };
}

/** Options for reading the bodies of analytics. */
export const analyticsBody = <S extends TSchema>(schema: S): BodySpec<S> => ({
  schema,
  mediaTypes: ['application/json', 'application/x-www-form-urlencoded'],
  required: true,
  maxBytes: LIMITS.searchBytes,
  bounds: { values: LIMITS.searchValues },
  jsonMembers: ['geometry', 'outStatistics'],
});
