import { expect } from 'vitest';

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
export type Json = any;

interface Server {
  url: string;
  adminKey: string;
}

/** Between two requests for the status of a job: each of them costs the server and the test some milliseconds. */
const MIN_WAIT_MS = 25;
const MAX_WAIT_MS = 200;

/** Talks to the processes of a server. */
export class ProcessClient {
  constructor(private readonly server: Server) {}

  get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    const url = path.startsWith('http') ? path : this.server.url + path;
    return fetch(url, { headers: { authorization: `Bearer ${this.server.adminKey}`, ...headers } });
  }

  async json(path: string): Promise<Json> {
    const response = await this.get(path, { accept: 'application/json' });
    expect([path, response.status]).toEqual([path, 200]);
    return response.json();
  }

  execute(process: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.server.url}/ogc/processes/processes/${process}/execution`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.server.adminKey}`,
        'content-type': 'application/json',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  dismiss(id: string): Promise<Response> {
    return fetch(`${this.server.url}/ogc/processes/jobs/${id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${this.server.adminKey}` },
    });
  }

  /** Starts a job, and resolves with its status once it has ended. */
  async run(process: string, body: unknown): Promise<Json> {
    const response = await this.execute(process, body);
    const text = await response.text();
    expect([response.status, text]).toEqual([201, expect.any(String)]);
    return this.ended(JSON.parse(text).jobID);
  }

  async ended(id: string): Promise<Json> {
    const deadline = Date.now() + 120_000;
    for (let wait = MIN_WAIT_MS; ; wait = Math.min(wait * 2, MAX_WAIT_MS)) {
      const status = await this.json(`/ogc/processes/jobs/${id}`);
      if (!['accepted', 'running'].includes(status.status)) return status;
      expect(Date.now()).toBeLessThan(deadline);
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  /** The results of an execution that succeeds. */
  async results(process: string, body: unknown): Promise<Json> {
    const status = await this.run(process, body);
    expect([status.status, status.message]).toEqual(['successful', expect.any(String)]);
    return this.json(`/ogc/processes/jobs/${status.jobID}/results`);
  }
}
