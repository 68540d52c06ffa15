import type { JobData } from '../../../core/catalog/page-data.js';
import { pageData } from '../page.js';
import { postExecution } from '../processes/execution.js';
import { type RequestMethod, sendJson } from '../request.js';

/** Brings the page of a job up to date while the job runs, and stops the job or tries it again. */

interface Status {
  status: string;
  message?: string;
  progress?: number;
  /** In place of the progress, in documents of the management API. */
  percentComplete?: number | null;
}

const ACTIVE = /^(accepted|queued|running)$/i;

const FIRST_MS = 500;
const LONGEST_MS = 5000;

const place = document.querySelector<HTMLElement>('[data-job]');
if (place) void start(place, pageData<JobData>('job-data'));

async function start(element: HTMLElement, data: JobData): Promise<void> {
  connect(element, '[data-dismiss]', () => send(data.cancel.path, data.cancel.method));
  connect(element, '[data-retry]', () => send(data.retry, 'POST'));
  if (data.repeat) connect(element, '[data-repeat]', () => repeat(data.jobs, data.repeat!));
  if (data.isActive) await follow(element, data);
}

/** The interval between requests grows. At the end the page is loaded again, with the results. */
async function follow(element: HTMLElement, { job }: JobData): Promise<void> {
  for (let ms = FIRST_MS; ; ms = Math.min(LONGEST_MS, ms * 1.2)) {
    await new Promise((resolve) => setTimeout(resolve, ms));
    const status = await findStatus(job);
    if (!status) continue;
    if (!ACTIVE.test(status.status)) return location.reload();
    document.querySelector('[data-job-status]')!.textContent = status.status;
    element.querySelector('[data-job-message]')!.textContent = status.message ?? '';
    const progress = status.progress ?? status.percentComplete ?? 0;
    element.querySelector<HTMLProgressElement>('[data-job-progress]')!.value = progress;
  }
}

/** Undefined if the server does not respond at the moment. */
async function findStatus(job: string): Promise<Status | undefined> {
  const result = await sendJson<Status>('GET', job);
  return 'value' in result ? result.value : undefined;
}

function connect(element: HTMLElement, selector: string, action: () => Promise<string | undefined>): void {
  const button = element.querySelector<HTMLButtonElement>(selector);
  if (!button) return;
  button.hidden = false;
  button.addEventListener('click', async () => {
    button.disabled = true;
    const problem = await action();
    if (problem === undefined) return location.reload();
    const fault = element.querySelector<HTMLElement>('[data-fault]')!;
    fault.textContent = problem;
    fault.hidden = false;
    button.disabled = false;
  });
}

/** Executes the process again, and opens the page of the new job. Returns an error message, if any. */
async function repeat(
  jobs: string,
  { execution, body }: NonNullable<JobData['repeat']>,
): Promise<string | undefined> {
  const { status, isAccepted, answer } = await postExecution(execution, body);
  if (!isAccepted) return answer.detail ?? `The server returned ${status}.`;
  location.assign(`${jobs}/${answer.jobID}?f=html`);
  // The button stays disabled until the page of the new job is there.
  return new Promise(() => {});
}

/** Returns an error message, or undefined on success. */
async function send(path: string, method: RequestMethod): Promise<string | undefined> {
  const result = await sendJson(method, path);
  return 'problem' in result ? result.problem : undefined;
}
