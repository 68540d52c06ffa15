import { loggingDocument } from '../gateway/telemetry/logging-document.js';
import { metricsDocument } from '../gateway/telemetry/metrics-document.js';

/** Prints docs/metrics.md, or with `logging` docs/logging.md. */
process.stdout.write(process.argv[2] === 'logging' ? loggingDocument() : metricsDocument());
