import { loggingDocument } from '../gateway/telemetry/logging-document.js';

/** Prints docs/logging.md. */
process.stdout.write(loggingDocument());
