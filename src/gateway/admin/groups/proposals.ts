import { action, group, report } from '../kit.js';

/** Proposed operations and their approval. */
export const proposals = group({ tag: 'Proposals', scope: 'proposals', envelope: 'raw' }, [
  report('GET /proposals', 'List Operation Proposals'),
  report('GET /proposals/{id}', 'Get Operation Proposal'),
  action('POST /proposals/{id}/approve', 'Approve Operation Proposal'),
  action('POST /proposals/{id}/reject', 'Reject Operation Proposal'),
]);
