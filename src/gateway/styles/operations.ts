import Type from 'typebox';
import { contentTag } from '../../core/http/content-tag.js';
import { JSON_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Operation } from '../../core/http/operation.js';
import { openApiDocument } from '../http/openapi.js';
import { documentReply, LandingSchema, OPENAPI_TYPE } from '../surface/common.js';

const STYLES_PATH = '/ogc/styles';
const COMMON = {
  surface: 'styles',
  protocol: 'OGC-Maps',
  permission: 'public',
  method: 'GET',
  tag: 'Capabilities',
} as const;

/**
 * The surface of styles has no operations: its landing page links to the styles, and its OpenAPI document has no
 * paths.
 */
export function stylesOperations(): Operation[] {
  return [
    defineOperation({
      ...COMMON,
      id: 'styles.landing',
      path: STYLES_PATH,
      summary: 'Landing page',
      formats: [JSON_FORMAT],
      responses: { 200: { description: 'Landing page', content: { 'application/json': LandingSchema } } },
      run(x) {
        const type = 'application/json';
        const url = `${x.baseUrl}${STYLES_PATH}`;
        const document = {
          title: 'Styles',
          description: 'Styles are read below the maps of collections, and managed by the management API.',
          links: [
            { href: url, rel: 'self', type, title: 'This document' },
            { href: `${url}/openapi.json`, rel: 'service-desc', type: OPENAPI_TYPE, title: 'API definition' },
            {
              href: `${x.baseUrl}/ogc/maps/styles`,
              rel: 'http://www.opengis.net/def/rel/ogc/1.0/styles',
              type,
              title: 'Styles of all collections',
            },
          ],
        };
        return documentReply(x, document, () => '');
      },
    }),
    defineOperation({
      ...COMMON,
      id: 'styles.api',
      path: `${STYLES_PATH}/openapi.json`,
      summary: 'OpenAPI document',
      responses: {
        200: { description: 'OpenAPI 3.0 document', content: { [OPENAPI_TYPE]: Type.Object({}) } },
      },
      run(x) {
        const info = { title: 'Graticule Styles', description: 'No operations yet.', serverUrl: x.baseUrl };
        const body = JSON.stringify(openApiDocument(info, []));
        return {
          status: 200,
          mediaType: OPENAPI_TYPE,
          body,
          etag: contentTag(body),
          cacheControl: 'no-cache',
        };
      },
    }),
  ];
}
