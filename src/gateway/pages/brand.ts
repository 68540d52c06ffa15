import { html } from '../../core/values/html.js';

/** The mark: a globe's graticule, two meridians and two parallels. Decorative, the name stands next to it. */
export const GRATICULE_MARK = html`<svg class="mark" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true" focusable="false" fill="none" stroke="currentColor" stroke-width="1.8"><circle cx="16" cy="16" r="13.2"/><ellipse cx="16" cy="16" rx="5.6" ry="13.2"/><path d="M4.6 10.2Q16 14.4 27.4 10.2M4.6 21.8Q16 17.6 27.4 21.8"/></svg>`;
