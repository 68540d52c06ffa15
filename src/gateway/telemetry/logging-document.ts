import { LOG_EVENTS } from '../../core/kit/log-events.js';

const HEAD = `# Logs

Each process writes its log lines to standard output. At a terminal the lines are readable text, otherwise compact JSON ([CLEF](https://clef-json.org)). \`logging.level\` is the minimum level.

Each line has the id of its kind as \`@i\`. The meaning of an id never changes, so use ids in alerts and filters. Message texts can change.

| Member | Meaning |
|---|---|
| \`@t\`, \`@l\`, \`@m\` | Time, level and message. A line without a level has level Information. |
| \`@mt\` | Message template. Only request lines have one. |
| \`@i\` | Id of the kind of line, see the table below. |
| \`@x\` | Exception with its stack and the stacks of its causes. |
| \`@tr\`, \`@sp\` | Trace id and span id of the request. |
| \`Process\` | \`gateway\` or \`supervisor\`. The supervisor writes the lines of engines. |

If the server does not export traces, \`@tr\` and \`@sp\` are the ids in the \`traceparent\` header of the client.

## Request lines

Each request has one line with id 1000. Its members are \`Method\`, \`Path\`, \`StatusCode\`, \`DurationMs\`, \`Bytes\`, \`Protocol\`, \`Operation\`, \`CorrelationId\` and \`Principal\`. The server never logs query strings.

A request that fails with 5xx has one more line, with id 1001 or 1006. It has \`StatusCode\`, \`Path\`, \`Operation\`, \`CorrelationId\` and the error code in \`Code\`.

| Request | Level |
|---|---|
| Health probe | Verbose |
| Response with status 500 or 507 | Error |
| Response with status 502, 503 or 504 | Warning |
| Other | Information |

## Export to a collector

If \`observability.otlpEndpoint\` is set, the server also sends the lines to \`{endpoint}/v1/logs\` (OTLP over HTTP, protobuf). The resource is the resource of the [traces](traces.md). An OTLP log record contains:

- the severity, and the message as its body
- the members as attributes
- the trace id and span id
- the name of the kind as \`event_name\`, and its id as the attribute \`event.id\`
- stacks as \`exception.stacktrace\`

At most 2,048 lines of a process wait for the collector. \`svc_telemetry_lost_total\` counts lines that exceed this limit and lines that the collector rejects. The server logs the first rejection (1701) and the recovery (1702). A process that exits waits at most 1.5 seconds for the collector.

## Kinds of lines

Names in braces are members of the line. This table is generated from \`src/core/kit/log-events.ts\` by \`node dist/gateway/telemetry/documents.js logging > docs/reference/server/logs.md\`.

| Id | Name | Level | Message |
|---|---|---|---|
`;

/** The text of docs/reference/server/logs.md. */
export function loggingDocument(): string {
  const rows = Object.entries(LOG_EVENTS).map(
    ([name, { id, level, message }]) => `| ${id} | \`${name}\` | ${level} | ${message} |\n`,
  );
  return HEAD + rows.join('');
}
