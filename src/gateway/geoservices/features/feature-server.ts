import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import {
  defineOperation,
  type Exchange,
  type Operation,
  type Param,
  type Reply,
} from '../../../core/http/operation.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { createErrorReply } from '../images/in-band.js';
import { withCallback } from '../jsonp.js';
import { EXACT_GEOSERVICES_MEMBERS, type Members, readChoiceMember } from '../members.js';
import { createFormReply, wantsForm } from '../operation-pages.js';
import { member } from './query-members.js';

/** Definitions that operations of GeoServices share. */

export const SERVER = 'FeatureServer';
export type ServerType =
  | 'FeatureServer'
  | 'MapServer'
  | 'ImageServer'
  | 'VectorTileServer'
  | 'GeocodeServer'
  | 'GPServer'
  | 'GeometryServer';

/** Forms of every POST: browsers send the first, ArcGIS API for Python the second. */
export const FORM_TYPES = ['application/x-www-form-urlencoded', 'multipart/form-data'] as const;

export const f = member('f', 'json, or pjson with line breaks.');

const responses = {
  200: {
    description: 'The result, or a member error with the reason',
    content: { 'application/json': Type.Object({}) },
  },
};

/** Spans of operations that do more than a task. */
const SPANS: Readonly<Record<string, string>> = {
  'MapServer/export': 'svc.mapserver.export',
  'MapServer/identify': 'svc.mapserver.identify',
  'GPServer/submitJob': 'svc.geoprocessing.dispatch',
  'GPServer/execute': 'svc.geoprocessing.dispatch',
};

export const common = (tag: string, verb: string, server: ServerType = SERVER) =>
  ({
    surface: 'geoservices',
    protocol: server === 'GeometryServer' ? 'GeometryService' : server,
    permission: 'public',
    span: SPANS[`${server}/${verb}`],
    tag,
    openQuery: true,
    takesToken: true,
    responses,
    failure: createErrorReply(server, verb),
    present: withCallback,
  }) as const;

type Texts = Record<string, Param<string | undefined>>;

interface ReadingSpec {
  readonly about: ReturnType<typeof common>;
  /** Operation id for GET; the id for POST has the prefix `post`. */
  readonly name: string;
  readonly path: string;
  readonly pathParams: Record<string, Param<string>>;
  readonly params: Texts;
  readonly summary: string;
  /** Form members of this operation that may be long because they contain JSON. */
  readonly jsonMembers?: readonly string[];
  run(x: Exchange, path: Readonly<Record<string, string>>, members: Members): Reply | Promise<Reply>;
}

/** An operation that clients call by GET, or by POST with a form if the query would be too long. */
export function readingOperation(spec: ReadingSpec): Operation[] {
  const { about, name, path, pathParams, params, summary, run } = spec;
  const pathOf = (x: { params: object }) => x.params as Readonly<Record<string, string>>;
  return [
    defineOperation({
      ...about,
      path,
      summary,
      id: `geoservices.${name}`,
      method: 'GET',
      params: { ...pathParams, f, ...params },
      run: (x) => {
        const members = mergeParameters(x);
        if (!wantsForm(x, spec)) return run(x, pathOf(x), members);
        return createFormReply(x, spec, members, (own) => run(x, pathOf(x), own));
      },
    }),
    defineOperation({
      ...about,
      path,
      summary,
      id: `geoservices.post${name[0]!.toUpperCase()}${name.slice(1)}`,
      method: 'POST',
      params: pathParams,
      body: {
        schema: Type.Object({}),
        mediaTypes: FORM_TYPES,
        required: false,
        jsonMembers: ['geometry', 'objectIds', 'addresses', ...(spec.jsonMembers ?? [])],
        exactMembers: EXACT_GEOSERVICES_MEMBERS,
        maxBytes: LIMITS.bodyBytes,
      },
      run: (x) => run(x, pathOf(x), mergeParameters(x)),
    }),
  ];
}

/** Parameters of the query and of the form. Throws 400 for one that both have, and say differently. */
export function mergeParameters({ query, body }: { query: string; body: unknown }): Members {
  const ofQuery = Object.fromEntries(new URLSearchParams(query));
  const ofBody = (body ?? {}) as Members;
  for (const [name, value] of Object.entries(ofQuery))
    if (Object.hasOwn(ofBody, name) && ofBody[name] !== value)
      throw badParameter(name, 'is in the query and in the body. Send it once');
  return { ...ofQuery, ...ofBody };
}

/** For `html`, the response is converted from JSON to a page later. */
export function documentFormat(members: Members): 'json' | 'pjson' {
  const f = readChoiceMember(members, 'f', { values: ['json', 'pjson', 'html'], fallback: 'json' });
  return f === 'pjson' ? f : 'json';
}
