import { getInstrumentUnit, type Instrument } from '../../services/telemetry/instruments.js';
import { instruments } from '../../services/telemetry/metrics.js';
import { ABSENT_INSTRUMENTS } from './absent-instruments.js';

const HEAD = `# Metrics

\`GET /metrics\` (administrator key; \`observability.prometheus.path\`) is Prometheus text; with \`observability.otlpEndpoint\` the same numbers go to \`{endpoint}/v1/metrics\` every ten seconds (OTLP over HTTP). Over OTLP the names have their dots, in the scrape they have underscores, and counters end in \`_total\`. Each gateway process counts for itself: a scrape shows the process that answers it.

An instrument has at most 1,000 label sets (histograms 250), and all together at most 8,000 lines beside those that explain them (\`# HELP\`, \`# TYPE\`); what comes beyond them is counted under \`other\`. The first 24 label sets of an instrument (histograms 4) keep their names, whatever the others have used, so a scrape can have more than 8,000 lines. Refused requests (401, 403, 429, unknown paths) use at most a tenth of these label sets and lines, management operations a fifth, and other errors of clients (4xx) a fifth, so at least half is left for what is served. Node's own process metrics (\`process_*\`, \`nodejs_*\`) are in the scrape as well.

Counters and histograms without labels are there from the start with the value 0; what has labels appears with the first event, a gauge once something has set it.

Generated from the declarations: \`node dist/gateway/telemetry/documents.js metrics > docs/reference/server/metrics.md\`.

## Instruments

| name | type | unit | labels | meaning |
|---|---|---|---|---|
`;

const TAIL = `
## Instruments of the interface that are not there

What they would count does not exist in this server.

| names | reason |
|---|---|
`;

const END = `
The interface names \`svc_cache_hit_ratio\` as a gauge and as a histogram; one name can have one type. It is the gauge, and \`svc_cache_hit_ratio_detailed\` the histogram.
`;

/** The text of docs/reference/server/metrics.md. */
export function metricsDocument(): string {
  const present = [...instruments()].sort((a, b) => (a.name < b.name ? -1 : 1)).map(row);
  const absent = ABSENT_INSTRUMENTS.map(
    ([reason, names]) => `| ${names.map((name) => `\`${name}\``).join(', ')} | ${reason} |\n`,
  );
  return HEAD + present.join('') + TAIL + absent.join('') + END;
}

function row({ dottedName, name, type, labelNames, help }: Instrument): string {
  const labels = labelNames.map((label) => `\`${label}\``).join(', ');
  const names = dottedName === name ? `\`${name}\`` : `\`${name}\` (OTLP \`${dottedName}\`)`;
  return `| ${names} | ${type} | ${getInstrumentUnit(dottedName)} | ${labels} | ${help} |\n`;
}
