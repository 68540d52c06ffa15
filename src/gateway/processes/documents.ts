import type { Exchange } from '../../core/http/operation.js';
import { jobPath, PROCESSES_PATH, processPath } from '../../core/http/paths.js';
import { PROCESS_VERSION, type ProcessDefinition } from '../../services/processes/definition.js';
import type { ExecutionInput } from '../../services/processes/execution.js';
import type { JobRow, JobState } from '../../stores/jobs/jobs.js';
import { formatLinks, type Link, META_FORMATS } from '../surface/common.js';

const REL = 'http://www.opengis.net/def/rel/ogc/1.0';

/** Features are part of the response, or referenced by URL. */
const TRANSMISSION = ['value', 'reference'];

/** A process as lists name it (OGC 18-062r2, 7.9). */
function processSummary(x: Exchange, process: ProcessDefinition) {
  const { id, title, description, keywords } = process;
  const path = processPath(id);
  return {
    id,
    title,
    description,
    keywords,
    version: PROCESS_VERSION,
    // `Prefer: wait` returns results instead of the job. Without it executions are asynchronous.
    jobControlOptions: ['async-execute', 'sync-execute', 'dismiss'],
    outputTransmission: TRANSMISSION,
    links: [
      {
        href: `${x.baseUrl}${path}`,
        rel: 'process',
        type: 'application/json',
        title: `Description of ${id}`,
      },
      {
        href: `${x.baseUrl}${path}/execution`,
        rel: `${REL}/execute`,
        type: 'application/json',
        title: `Execute ${id}`,
      },
    ],
  };
}

export function processList(x: Exchange, processes: readonly ProcessDefinition[]) {
  return {
    processes: processes.map((process) => processSummary(x, process)),
    links: formatLinks(x, `${PROCESSES_PATH}/processes`, META_FORMATS),
  };
}

/** A process with its inputs and outputs (OGC 18-062r2, 7.10). */
export function processDocument(x: Exchange, process: ProcessDefinition) {
  const { links, ...summary } = processSummary(x, process);
  return {
    ...summary,
    inputs: Object.fromEntries(
      Object.entries(process.inputs).map(([name, { title, description, schema, isOptional }]) => [
        name,
        { title, description, schema, minOccurs: isOptional ? 0 : 1, maxOccurs: 1 },
      ]),
    ),
    outputs: Object.fromEntries(
      Object.entries(process.outputs).map(([name, { title, description, schema }]) => [
        name,
        { title, description, schema },
      ]),
    ),
    links: [...formatLinks(x, processPath(process.id), META_FORMATS), ...links.slice(1)],
  };
}

const STATUS: Readonly<Record<JobState, string>> = {
  Queued: 'accepted',
  Running: 'running',
  Succeeded: 'successful',
  Failed: 'failed',
  Cancelled: 'dismissed',
};

export const STATUS_CODES = Object.values(STATUS);

/** States of jobs by the codes that clients name. */
export function parseJobStates(codes: readonly string[]): JobState[] {
  return (Object.keys(STATUS) as JobState[]).filter((state) => codes.includes(STATUS[state]));
}

/** Status of a job (OGC 18-062r2, 7.12). */
export function statusInfo(x: Pick<Exchange, 'baseUrl'>, job: JobRow) {
  const { process } = JSON.parse(job.input_json) as ExecutionInput;
  return {
    processID: process,
    type: 'process',
    jobID: job.id,
    status: STATUS[buildState(job)],
    message: formatMessage(job),
    created: timestamp(job.created_at),
    ...(job.started_at === null ? {} : { started: timestamp(job.started_at) }),
    ...(job.completed_at === null ? {} : { finished: timestamp(job.completed_at) }),
    updated: timestamp(job.updated_at),
    progress: job.state === 'Succeeded' ? 100 : Math.floor((job.fraction ?? 0) * 100),
    links: jobLinks(x, job, process),
  };
}

/** A job that runs stops at its next safe point; it is dismissed from the request on all the same. */
function buildState({ state, cancel_requested_at: dismissedAt }: JobRow): JobState {
  return state === 'Running' && dismissedAt !== null ? 'Cancelled' : state;
}

function jobLinks(x: Pick<Exchange, 'baseUrl'>, job: JobRow, process: string): Link[] {
  const path = jobPath(job.id);
  const results: Link = {
    href: `${x.baseUrl}${path}/results`,
    rel: `${REL}/results`,
    type: 'application/json',
    title: 'Results',
  };
  return [
    { href: `${x.baseUrl}${path}`, rel: 'self', type: 'application/json', title: 'This job' },
    {
      href: `${x.baseUrl}${processPath(process)}`,
      rel: 'up',
      type: 'application/json',
      title: 'The process',
    },
    ...(job.state === 'Succeeded' ? [results] : []),
  ];
}

function formatMessage({ state, phase, failure_message: failure, warnings_json: warnings }: JobRow): string {
  if (state === 'Failed') return failure ?? 'The job failed.';
  if (state === 'Cancelled') return 'The job was dismissed.';
  if (state === 'Queued') return 'The job waits.';
  if (state === 'Running') return phase === null ? 'The job runs.' : `The job runs: ${phase}.`;
  return ['The job has ended.', ...(JSON.parse(warnings) as string[])].join(' ');
}

const timestamp = (ms: number) => new Date(ms).toISOString();
