import { catalogueDocument } from './catalogue-document.js';

/** Prints docs/reference/apis/process-catalogue.md. */
process.stdout.write(catalogueDocument());
