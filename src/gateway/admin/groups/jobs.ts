import { action, group, report } from '../kit.js';

/** Background jobs of every kind. */
export const jobs = group({ tag: 'Console jobs', scope: 'jobs', envelope: 'raw' }, [
  report('GET /jobs', 'List Console Jobs'),
  report('GET /jobs/{jobId}', 'Get Console Job Detail'),
  report('GET /jobs/{jobId}/logs', 'Get Console Job Logs'),
  report('GET /jobs/{jobId}/artifacts', 'Get Console Job Artifacts'),
  report('GET /jobs/{jobId}/actions', 'Get Console Job Actions'),
  action('POST /jobs/{jobId}/cancel', 'Cancel Console Job'),
  action('POST /jobs/{jobId}/retry', 'Retry Console Job'),
  report('GET /jobs/{jobId}/steps', 'Get Console Job Steps'),
]);
