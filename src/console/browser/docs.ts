import type { DocsData } from '../../core/catalog/page-data.js';
import { onThisOrigin, pageData } from './page.js';

/** The interface viewer's own bundle, a classic script that runs before this module. */
interface SwaggerUI {
  (options: Record<string, unknown>): unknown;
  presets: { apis: unknown };
}

declare global {
  interface Window {
    SwaggerUIBundle?: SwaggerUI;
  }
}

const { baseUrl, openapi } = pageData<DocsData>('docs-data');
const place = document.getElementById('viewer');
const viewer = window.SwaggerUIBundle;
if (place && viewer) {
  // The viewer inserts its own main element into ours.
  new MutationObserver(() => place.querySelector('main')?.setAttribute('role', 'group')).observe(place, {
    childList: true,
    subtree: true,
  });
  viewer({
    url: onThisOrigin(openapi, baseUrl),
    domNode: place,
    presets: [viewer.presets.apis],
    deepLinking: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    tryItOutEnabled: true,
    // Disables the external validator.
    validatorUrl: null,
  });
} else if (place) {
  place.textContent = 'The viewer could not be loaded; the document above can.';
}
