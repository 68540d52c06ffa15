import Type from 'typebox';
import { HTML_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Operation } from '../../core/http/operation.js';
import { defineIntegerParam, defineTextParam } from '../../core/http/params.js';
import { requireNoTenant } from '../../services/access/rules/restrictions.js';
import {
  mayChangeSources,
  SOURCES_PERMISSION,
  type SourceState,
} from '../../services/catalog/source-states.js';
import { sourcesPage } from '../pages/catalog/sources.js';
import { buildFrame } from '../pages/crumbs.js';
import { createPageReply } from '../pages/page-reply.js';

interface SourcesDeps {
  listSources(): readonly SourceState[];
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
      const mayRetry = mayChangeSources(principal);
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
