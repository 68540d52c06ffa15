import { errorsDocument } from './errors-document.js';
import { loggingDocument } from './logging-document.js';
import { metricsDocument } from './metrics-document.js';

const DOCUMENTS: Readonly<Record<string, () => string>> = {
  errors: errorsDocument,
  logging: loggingDocument,
  metrics: metricsDocument,
};

/** Prints docs/reference/server/metrics.md; with `logging` logs.md, with `errors` errors.md. */
process.stdout.write(DOCUMENTS[process.argv[2] ?? 'metrics']!());
