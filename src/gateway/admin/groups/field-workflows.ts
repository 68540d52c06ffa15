import { action, group, report } from '../kit.js';

/** Review of data collected in the field. */
export const fieldWorkflows = group({ tag: 'Field workflows', scope: 'field-workflows', envelope: 'raw' }, [
  report('GET /field-workflows/submissions', 'List Field Submissions'),
  report('GET /field-workflows/submissions/{submissionId}', 'Get Field Submission'),
  action('POST /field-workflows/submissions/{submissionId}/assignment', 'Assign Field Submission'),
  action('POST /field-workflows/submissions/{submissionId}/decision', 'Decide Field Submission'),
  action('POST /field-workflows/submissions/{submissionId}/comments', 'Comment On Field Submission'),
  report('GET /field-workflows/exports', 'List Field Exports'),
  action('POST /field-workflows/exports', 'Create Field Export'),
]);
