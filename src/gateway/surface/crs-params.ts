import Type from 'typebox';
import { badParameter } from '../../core/errors/errors.js';
import type { Param } from '../../core/http/operation.js';
import { defineTextParam } from '../../core/http/params.js';
import { LIMITS } from '../../core/kit/limits.js';
import { resolveCrs } from '../../native/crs.js';

/** A CRS as URI, URN, CURIE, `EPSG:n` or a bare code. The value is the known CRS. */
export function crsParam(name: 'crs' | 'bbox-crs' | 'filter-crs' | 'subset-crs', description: string) {
  return {
    name,
    in: 'query' as const,
    description,
    schema: Type.String({ format: 'uri' }),
    parse: (raw: string | undefined) => (raw === undefined ? undefined : resolveCrs(name, raw)),
  } satisfies Param;
}

/** A CQL2 filter, its language and the CRS of its geometries (OGC 19-079r2, clause 8). */
export const filterParams = {
  filter: defineTextParam('filter', { description: 'CQL2 expression.' }, { maxLength: LIMITS.urlBytes }),
  filterLang: {
    name: 'filter-lang',
    in: 'query',
    description: 'Language of the filter.',
    schema: Type.String({ enum: ['cql2-text', 'cql2-json'], default: 'cql2-text' }),
    parse(raw: string | undefined) {
      if (raw !== undefined && raw !== 'cql2-text' && raw !== 'cql2-json')
        throw badParameter('filter-lang', 'must be cql2-text or cql2-json');
      return raw ?? 'cql2-text';
    },
  } as const,
  filterCrs: crsParam('filter-crs', 'CRS of the geometries in the filter; CRS84 by default.'),
};
