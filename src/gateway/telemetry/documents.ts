import { loggingDocument } from './logging-document.js';
import { metricsDocument } from './metrics-document.js';

/** Prints docs/metrics.md, or with `logging` docs/logging.md. */
process.stdout.write(process.argv[2] === 'logging' ? loggingDocument() : metricsDocument());
