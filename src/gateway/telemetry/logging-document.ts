import { LOG_EVENTS } from '../../core/kit/log-events.js';

const HEAD = `# The log

Every process writes its log to standard output: compact JSON ([CLEF](https://clef-json.org)) when that is not a terminal, readable lines when it is. \`logging.level\` is the least level that is written.

Each line has the id of its kind as \`@i\`. An id keeps its meaning, so it is what alerts and filters should ask for; texts may change.

| member | meaning |
|---|---|
| \`@t\`, \`@l\`, \`@m\` | Time, level, text. A line without a level is of level Information. |
| \`@mt\` | Template of the text, of lines about requests. |
| \`@i\` | Id of the kind of line, from the table below. |
| \`@x\` | What was thrown, with the stacks of its causes. |
| \`@tr\`, \`@sp\` | Trace and span of the request if traces are pushed, else those that the client sent in \`traceparent\`. |
| \`Process\` | \`gateway\` or \`supervisor\`; the supervisor writes the lines of engines. |

Every request has one line (1000) with \`Method\`, \`Path\`, \`StatusCode\`, \`DurationMs\`, \`Bytes\`, \`Protocol\`, \`Operation\`, \`CorrelationId\` and \`Principal\`. Query strings are never logged. Health probes are of level Verbose, responses with 500 and 507 of level Error, with 502 to 504 of level Warning.

## Push

With \`observability.otlpEndpoint\` the lines go to \`{endpoint}/v1/logs\` as well (OTLP over HTTP, protobuf), with the resource that traces have: severity, text as the body, the members as attributes, trace and span, the name of the kind as \`event_name\`, its id as the attribute \`event.id\`, stacks as \`exception.stacktrace\`. At most 2,048 lines of a process wait for the collector. What finds no room, and what the collector does not take, is counted in \`svc_telemetry_lost_total\`; the log says once that the collector fails (1701) and once that it is back (1702). A process that ends waits 1.5 seconds for the collector at most.

## Kinds of lines

Generated from \`src/core/kit/log-events.ts\`: \`node dist/gateway/telemetry/documents.js logging > docs/reference/server/logs.md\`.

| id | name | level | text |
|---|---|---|---|
`;

/** The text of docs/reference/server/logs.md. */
export function loggingDocument(): string {
  const rows = Object.entries(LOG_EVENTS).map(
    ([name, { id, level, message }]) => `| ${id} | \`${name}\` | ${level} | ${message} |\n`,
  );
  return HEAD + rows.join('');
}
