import type { RequestAuditor } from '../../src/gateway/http/audited-request.js';

/** For dispatchers whose audit trail a test does not look at. */
export const NO_AUDIT: RequestAuditor = { run: (_request, work) => work(), refused() {}, signedIn() {} };
