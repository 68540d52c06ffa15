import Type from 'typebox';
import { hasFeatures } from '../../core/catalog/abilities.js';
import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { notFound } from '../../core/errors/errors.js';
import { HTML_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Operation } from '../../core/http/operation.js';
import { defineTextParam, pathString } from '../../core/http/params.js';
import { requireNoTenant } from '../../services/access/rules/restrictions.js';
import type { CrsList } from '../../services/catalog/crs/crs-list.js';
import { findCrsProblem, type SourceCrs } from '../../services/catalog/crs/source-crs.js';
import {
  mayChangeSources,
  SOURCES_PERMISSION,
  type SourceStates,
} from '../../services/catalog/source-states.js';
import { sourceCrsPage } from '../pages/catalog/source-crs.js';
import { buildFrame } from '../pages/crumbs.js';
import { createPageReply } from '../pages/page-reply.js';

export interface SourceCrsPageDeps {
  readonly sources: Pick<SourceStates, 'find' | 'findByCollection'>;
  readonly sourceCrs: Pick<SourceCrs, 'read'>;
  readonly crsList: Pick<CrsList, 'search'>;
  catalog(): CatalogSnapshot;
}

/** CRSs in the search results of the page. */
const MAX_HITS = 20;

/** Page with the CRS of a source, on which operators choose another one. */
export function sourceCrsOperation(deps: SourceCrsPageDeps): Operation {
  return defineOperation({
    method: 'GET',
    surface: 'site',
    protocol: 'Site',
    permission: SOURCES_PERMISSION,
    id: 'site.sourceCrs',
    path: '/sources/{id}/crs',
    summary: 'Coordinate reference system of a source',
    params: {
      id: pathString('id', 'sourceId of `GET /api/v1/admin/sources`, or id of a collection.'),
      crs: defineTextParam(
        'crs',
        { description: 'Selected CRS. Forms send it together with q.' },
        { maxLength: 4096 },
      ),
      q: defineTextParam('q', { description: 'Words in code, name or area of a CRS.' }, { maxLength: 200 }),
    },
    formats: [HTML_FORMAT],
    responses: {
      200: { description: 'Page with the CRS.', content: { 'text/html': Type.String() } },
    },
    async run(x) {
      requireNoTenant(x.principal);
      const { id, q = '' } = x.params;
      const source = deps.sources.find(id) ?? deps.sources.findByCollection(id);
      if (!source) throw notFound('source', id.slice(0, 100));
      const [view, hits] = await Promise.all([
        deps.sourceCrs.read(source),
        q.trim() === '' ? undefined : deps.crsList.search(q, MAX_HITS),
      ]);
      const catalog = deps.catalog();
      const [first] = source.collections;
      const document = sourceCrsPage({
        ...buildFrame(x),
        source,
        view,
        problem: findCrsProblem(source, catalog),
        mayChange: mayChangeSources(x.principal),
        canBeLocal: first !== undefined && hasFeatures(catalog.byId(first.id)),
        q,
        selected: x.params.crs,
        hits,
        bounds: first && catalog.byId(first.id)?.extent84,
      });
      return createPageReply(document);
    },
  });
}
