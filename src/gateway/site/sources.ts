import Type from 'typebox';
import { HTML_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Operation, type Principal } from '../../core/http/operation.js';
import { defineIntegerParam, defineTextParam } from '../../core/http/params.js';
import { permits } from '../../services/access/permissions.js';
import { requireNoTenant } from '../../services/access/rules/restrictions.js';
import type { SourceState } from '../../services/catalog/source-states.js';
import { sourcesPage } from '../pages/catalog/sources.js';
import { buildFrame } from '../pages/crumbs.js';
import { createPageReply } from '../pages/page-reply.js';

/** Permission to see the names of files that are not published. Same as that of `GET /api/v1/admin/sources`. */
const SOURCES_PERMISSION = 'admin:services:read';

interface SourcesDeps {
  listSources(): readonly SourceState[];
}

/** Whether a caller can see the names of sources. Callers of a tenant see only their own layers. */
export function maySeeSources(principal: Principal): boolean {
  return principal.tenantId === undefined && permits(principal, SOURCES_PERMISSION);
}

export function listProblemSources({ listSources }: SourcesDeps): readonly SourceState[] {
  return listSources().filter(({ state }) => state !== 'published');
}

const MAX_PAGES = 10_000;

/** Page with the sources of the server, by folder: what is refused and why. */
export function sourcesOperation(deps: SourcesDeps): Operation {
  return defineOperation({
    method: 'GET',
    surface: 'site',
    protocol: 'Site',
    permission: SOURCES_PERMISSION,
    id: 'site.sources',
    path: '/sources',
    summary: 'Sources that are not published or have warnings, by folder',
    params: {
      state: defineTextParam(
        'state',
        { description: 'problems (default), refused, warning, published or all.' },
        { maxLength: 20 },
      ),
      q: defineTextParam('q', { description: 'Text in the path, layer or reason.' }, { maxLength: 512 }),
      page: defineIntegerParam(
        'page',
        { min: 1, max: MAX_PAGES, default: 1 },
        { description: 'Number of the page.' },
      ),
    },
    formats: [HTML_FORMAT],
    responses: { 200: { description: 'Page with the sources.', content: { 'text/html': Type.String() } } },
    run(x) {
      const { principal, params } = x;
      requireNoTenant(principal);
      const { state, q, page } = params;
      const mayRetry = permits(principal, 'admin:services:write');
      const document = sourcesPage({
        ...buildFrame(x),
        sources: deps.listSources(),
        state,
        q,
        page,
        mayRetry,
      });
      return createPageReply(document);
    },
  });
}
