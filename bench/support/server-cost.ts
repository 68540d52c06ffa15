import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { pin } from './core.js';
import { treeCpuMs } from './peers.js';

/** What one of many answers costs. */
export interface ServerCost {
  cpuMs: number;
  perSecond: number;
}

/** Fetches each URL once, several at a time, and sums up the bytes of the bodies. Throws for any that is not 200, or empty. */
export async function fetchAll(urls: readonly string[], clients: number): Promise<number> {
  const waiting = urls.values();
  let bytes = 0;
  const client = async () => {
    for (const url of waiting) {
      const answer = await fetch(url);
      const body = await answer.arrayBuffer();
      if (answer.status !== 200 || body.byteLength === 0)
        throw new Error(`${url}: ${answer.status} ${Buffer.from(body).toString('utf8', 0, 300)}`);
      bytes += body.byteLength;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return bytes;
}

/** What these URLs cost a server and its children. */
export async function costOf(pid: number, urls: readonly string[], clients: number): Promise<ServerCost> {
  const [cpu, started] = [treeCpuMs(pid), performance.now()];
  await fetchAll(urls, clients);
  const seconds = (performance.now() - started) / 1e3;
  return { cpuMs: (treeCpuMs(pid) - cpu) / urls.length, perSecond: urls.length / seconds };
}

/** A script on core 0, without HTTP: says when it is ready, then does what it is sent and answers `cpuMs` and `wallMs`. */
export class InProcess {
  readonly #child: ChildProcess;

  constructor(script: string, args: readonly string[]) {
    this.#child = fork(script, args, { execArgv: [] });
  }

  async start(): Promise<this> {
    await once(this.#child, 'message');
    pin(0, this.#child.pid);
    return this;
  }

  /** `count` is that of the answers which the work stands for. */
  async run(work: object, count: number): Promise<ServerCost> {
    this.#child.send(work);
    const [{ cpuMs, wallMs }] = (await once(this.#child, 'message')) as [{ cpuMs: number; wallMs: number }];
    return { cpuMs: cpuMs / count, perSecond: (count * 1e3) / wallMs };
  }

  stop(): void {
    this.#child.kill();
  }
}
