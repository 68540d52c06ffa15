import { ERROR_GUIDE } from '../../core/errors/error-guide.js';
import { ERROR_TABLE, type ErrorCode } from '../../core/errors/errors.js';

const HEAD = `# Errors

Look up the \`code\` of an error here: when it happens, and the remedy.

Errors are problem documents ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457), \`application/problem+json\`). Clients of \`/rest\` get the error objects of [GeoServices](../apis/geoservices.md) instead, and browsers get a page.

| member | meaning |
|---|---|
| \`type\` | \`about:blank\`, or a URI that ends with \`/problems/admin\`, \`/problems/security\` or \`/problems/validation\`. Some standards define other URIs. The host is [\`server.vendor\`](settings.md#server.vendor). |
| \`code\` | Code of the error, from the table below. |
| \`help\` | URL of the section on this page that describes the \`code\`. |
| \`title\`, \`status\` | Name of the error, and the HTTP status. |
| \`detail\` | The problem with this request. |
| \`errors\` | The parameters and members that are wrong: \`name\`, \`detail\`, \`path\`. |
| \`links\` | Links to the same collection in other APIs, such as the maps of a raster: \`rel\`, \`href\`, \`title\`. |
| \`instance\` | Path of the request. |
| \`correlationId\` | Id of the request. The [log](logs.md) also has it. |
| \`retryable\`, \`retryAfterSeconds\` | Whether the same request can succeed later, and when to send it. |

If \`server.vendor\` is the host name of the server, the server redirects the \`/problems/…\` URIs in \`type\` to this page.

## Codes

Generated from \`src/core/errors\` by \`node dist/gateway/telemetry/documents.js errors\`.

| code | status | title |
|---|---|---|
`;

/** The text of docs/reference/server/errors.md. */
export function errorsDocument(): string {
  const codes = (Object.keys(ERROR_TABLE) as ErrorCode[]).sort(
    (a, b) => ERROR_TABLE[a][0] - ERROR_TABLE[b][0],
  );
  const rows = codes.map((code) => {
    const [status, title] = ERROR_TABLE[code];
    return `| [${code}](#${code}) | ${status} | ${title} |\n`;
  });
  return HEAD + rows.join('') + codes.map(renderCode).join('');
}

function renderCode(code: ErrorCode): string {
  const [status, title] = ERROR_TABLE[code];
  const { when, action } = ERROR_GUIDE[code];
  return `\n### ${code}\n\n${status} ${title}. ${when}\n\n**Remedy:** ${action}\n`;
}
