import { loggingDocument } from './logging-document.js';
import { metricsDocument } from './metrics-document.js';

/** Prints docs/reference/server/metrics.md, or with `logging` docs/reference/server/logs.md. */
process.stdout.write(process.argv[2] === 'logging' ? loggingDocument() : metricsDocument());
