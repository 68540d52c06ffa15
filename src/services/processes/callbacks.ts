import { setTimeout as sleep } from 'node:timers/promises';
import { badParameter } from '../../core/errors/errors.js';
import { SourceFault } from '../../core/errors/failure.js';
import { LIMITS } from '../../core/kit/limits.js';
import { version } from '../../core/kit/version.js';
import { PROCESS_LIMITS } from '../../core/processes/limits.js';
import type { JobRow } from '../../stores/jobs/jobs.js';
import type { AllowedHosts } from '../../workers/storage/remote/allowed-hosts.js';
import type { Outcome } from '../deliveries/outcome.js';
import { post } from '../deliveries/post.js';
import { planRetry } from '../deliveries/schedule.js';
import type { JobEngine } from '../jobs/engine.js';
import type { JobContext, JobKind } from '../jobs/kinds.js';

/** URLs that receive the progress and the end of an execution (OGC 18-062r2, 7.13). */
export interface Subscriber {
  successUri?: string;
  inProgressUri?: string;
  failedUri?: string;
}

/** Documents for subscribers. */
interface CallbackDocuments {
  status(job: JobRow, baseUrl: string): unknown;
  /** Results of a job that succeeded. */
  results(job: JobRow, baseUrl: string): unknown;
}

interface CallbackInput {
  jobId: string;
  subscriber: Subscriber;
  /** Address of this server, as who executed the process knows it. */
  baseUrl: string;
}

export interface CallbacksDeps {
  jobs: JobEngine;
  allowed: AllowedHosts;
  documents: CallbackDocuments;
}

const KIND = 'process-callback';
/** Maximum responses with `Retry-After` that do not count as attempts. */
const MAX_BUSY = 20;

/** Notifies subscribers of executions. Each notification is a separate job, so it survives a restart. */
export class Callbacks {
  readonly #deps: CallbacksDeps;

  constructor(deps: CallbacksDeps) {
    this.#deps = deps;
    deps.jobs.register(this.#kind());
  }

  /** Throws 400 for a URL that is not allowed. */
  refuse(subscriber: Subscriber): void {
    for (const [name, uri] of Object.entries(subscriber)) {
      const at = `/subscriber/${name}`;
      if (!URL.canParse(uri)) throw badParameter(at, 'must be a URL');
      const problem = this.#deps.allowed.problemOfReceiver(new URL(uri));
      if (problem !== undefined) throw badParameter(at, problem);
    }
  }

  /** Durable once resolved. */
  async subscribe(job: JobRow, subscriber: Subscriber, baseUrl: string): Promise<void> {
    const input: CallbackInput = { jobId: job.id, subscriber, baseUrl };
    const { owner, tenant, correlation_id: correlationId } = job;
    const options = {
      owner,
      ...(tenant === null ? {} : { tenant }),
      resources: [`job:${job.id}`],
      ...(correlationId === null ? {} : { correlationId }),
    };
    await this.#deps.jobs.submit(KIND, input, options);
  }

  #kind(): JobKind<CallbackInput, { notices: string[] }> {
    return {
      kind: KIND,
      title: 'Tell the subscriber of a process',
      console: 'Geoprocessing',
      operationType: 9,
      resumable: true,
      waits: true,
      // A process that ends its server several times must also be reported. Sending has separate retries.
      maxAttempts: 1000,
      run: (context) => this.#run(context),
    };
  }

  async #run(context: JobContext<CallbackInput>): Promise<{ notices: string[] }> {
    const { jobId, subscriber, baseUrl } = context.input;
    const { documents } = this.#deps;
    const notices: string[] = [];
    const end = await this.#follow(context, (job) => documents.status(job, baseUrl), notices);
    const isSuccess = end.state === 'Succeeded';
    const uri = isSuccess ? subscriber.successUri : subscriber.failedUri;
    if (uri === undefined) return { notices };
    const document = isSuccess ? documents.results(end, baseUrl) : documents.status(end, baseUrl);
    await context.step('callback', `Telling ${new URL(uri).host} of the end of ${jobId}`, () =>
      this.#insist(context, uri, `${jobId}:end`, JSON.stringify(document)),
    );
    return { notices: [...notices, isSuccess ? 'success' : 'failed'] };
  }

  /** Resolves with the job once it has ended. Until then, reports its progress if the subscriber wants it. */
  async #follow(
    { input: { jobId, subscriber }, signal }: JobContext<CallbackInput>,
    statusOf: (job: JobRow) => unknown,
    notices: string[],
  ): Promise<JobRow> {
    const { jobs } = this.#deps;
    const { inProgressUri: uri } = subscriber;
    if (uri === undefined) return jobs.finished(jobId, signal);
    let last = '';
    let notice = 0;
    for (;;) {
      const job = await jobs.get(jobId);
      if (job.state !== 'Queued' && job.state !== 'Running') return job;
      const body = JSON.stringify(statusOf(job));
      // The next one makes up for one that did not arrive.
      if (body !== last)
        await this.#send(uri, `${jobId}:progress:${(notice += 1)}`, body, signal).then(
          ({ kind }) => kind === 'accepted' && notices.push('progress'),
        );
      last = body;
      const late = AbortSignal.any([signal, AbortSignal.timeout(PROCESS_LIMITS.callbackProgressMs)]);
      await jobs.finished(jobId, late).catch((error: unknown) => {
        if (signal.aborted) throw error;
      });
    }
  }

  async #insist(context: JobContext, uri: string, id: string, body: string): Promise<void> {
    let attempt = 0;
    for (let busy = 0; ; ) {
      const outcome = await this.#send(uri, id, body, context.signal);
      context.signal.throwIfAborted();
      if (outcome.kind === 'accepted') return;
      const { error } = outcome;
      const isBusy = outcome.kind === 'retry' && outcome.afterMs !== undefined && busy++ < MAX_BUSY;
      if (!isBusy) attempt += 1;
      if (outcome.kind === 'refused' || attempt === LIMITS.webhookAttempts)
        throw new SourceFault('subscriber-unreachable', `The subscriber was not notified: ${error}.`);
      await context.log('warning', `Attempt ${attempt + (isBusy ? 1 : 0)} failed: ${error}.`);
      const waitMs = isBusy ? outcome.afterMs : planRetry(attempt, {}).afterMs;
      await sleep(waitMs, undefined, { signal: context.signal });
    }
  }

  #send(uri: string, id: string, body: string, signal: AbortSignal): Promise<Outcome> {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': `graticule/${version()}`,
      'idempotency-key': id,
    };
    return post({ url: new URL(uri), method: 'POST', headers, body, allowed: this.#deps.allowed, signal });
  }
}
