import { describe, expect, it } from 'vitest';
import { TASK_FAILURE_CODES } from '../../src/core/errors/failure.js';
import { failureError, jobError } from '../../src/services/jobs/job-error.js';

const FAULTS = { input: 'unprocessable', size: 'payload-too-large' } as const;
const failed = (code: string | null, state: 'Failed' | 'Cancelled' = 'Failed') => ({
  ...{ state, failure_code: code, failure_message: 'text' },
});

describe('the error of a job that did not succeed', () => {
  it.each([
    ['conflict', 409],
    ['cancelled', 409],
    ['forbidden', 403],
    ['invalid-input', 422],
    ['source-unreadable', 422],
    ['source-missing', 422],
    ['not-found', 422],
    ['too-large', 413],
    ['storage-full', 507],
    ['insufficient-storage', 507],
    ['queue-full', 503],
    ['worker-lost', 503],
    ['internal', 500],
    ['a code that no table has', 500],
    // Of servers that data comes from.
    ['import.source_unreachable', 503],
    ['import.invalid_items_document', 422],
  ])('has a status by its code: %s', (code, status) => {
    expect(jobError(failed(code), FAULTS)).toMatchObject({ status, message: 'text' });
  });

  it('blames only the server for a code without a meaning', () => {
    const servers = TASK_FAILURE_CODES.filter((code) => failureError(code, '', FAULTS).status === 500);
    expect(servers).toEqual(['internal']);
  });

  it('names the end of a job that has no message', () => {
    const job = { ...failed(null, 'Cancelled'), failure_message: null };
    expect(jobError(job, FAULTS)).toMatchObject({ status: 409, message: 'The job ended: Cancelled.' });
    expect(jobError(failed('too-large'), { input: 'invalid-request' }).status).toBe(400);
  });
});
