import type { RequestAuditor } from '../../src/gateway/http/dispatch.js';

/** For dispatchers whose audit trail a test does not look at. */
export const NO_AUDIT: RequestAuditor = { run: (_request, work) => work(), refused() {}, signedIn() {} };
