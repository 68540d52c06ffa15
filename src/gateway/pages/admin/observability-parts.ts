import { html, type Markup } from '../../../core/values/html.js';
import { renderSeverity } from '../alerts/parts.js';
import { anchor } from '../links.js';
import { stackedTable } from '../table.js';

/** Parts of the pages about the observation of the server. */

/** Path of the records of requests in the management API. */
export const REQUESTS_PATH = '/api/v1/admin/observability/requests';

const SEVERITY_OF: Readonly<Record<string, string>> = {
  Healthy: 'info',
  Degraded: 'warning',
  Unhealthy: 'critical',
  ...{ info: 'info', notice: 'info', warning: 'warning', error: 'critical', critical: 'critical' },
};
/** Coloured name of a severity or status. */
export const renderStatus = (text: string) => renderSeverity(SEVERITY_OF[text] ?? 'info', text);

/** `0.4 ms`, `35 ms`, `1.2 s`. */
export const formatDuration = (ms: number) =>
  ms < 10 ? `${ms.toFixed(1)} ms` : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;

/** A table whose first column names the rows. */
export function renderListing(
  label: string,
  names: readonly string[],
  rows: readonly (readonly (Markup | string)[])[],
  numbers: readonly number[] = [],
): Markup {
  return stackedTable(
    label,
    { names, head: 0, numbers },
    rows.map((cells) => ({ cells })),
  );
}

/** Second line of a cell. */
export const renderNote = (text: string) => html`<br><span class="muted"><bdi>${text}</bdi></span>`;

/** Link to the record of a request. */
export function renderRequestLink(baseUrl: string, id: string): Markup {
  if (id === '-') return html`–`;
  return anchor(`${baseUrl}${REQUESTS_PATH}/${encodeURIComponent(id)}?f=html`, id);
}

export const renderMissing = (instances: readonly string[] | undefined) =>
  instances === undefined || instances.length === 0
    ? undefined
    : html`<p role="alert">Processes that did not respond: ${instances.join(', ')}.</p>`;
