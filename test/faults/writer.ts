import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { ADMIN_KEY, type FaultyServer } from './server.js';
import type { Store } from './store.js';

export const COLLECTION = 'spots';
const ANSWER_MS = 30_000;
const PAUSE_MS = 100;

interface Operation {
  readonly name: string;
  readonly version: number;
  readonly json: object;
}

export interface WriterSetup {
  name: string;
  servers: readonly FaultyServer[];
  /** Operations of a batch, all of them or none. */
  operations: number;
  /** Between two batches. */
  pauseMs: number;
  /** Names its features itself, so that it can change them; without that, it only makes some. */
  named: boolean;
  /** Resolves when nothing of edits that were not answered can still become true. */
  settled(): Promise<void>;
  store: Store;
}

/**
 * Sends batches until each has become true exactly once, whatever happens to servers and databases meanwhile: again with
 * the same key, to any server, as long as the answers let it; looking first, where they say so.
 */
export class Writer {
  /** Versions of the features that were acknowledged, by name; those that were deleted have none. */
  readonly features = new Map<string, number | undefined>();
  /** How many operations were acknowledged. */
  acknowledged = 0;
  /** How often answers were missing, of batches that had become true all the same. */
  readonly counts = { batches: 0, tries: 0, replayed: 0, running: 0, looked: 0, found: 0 };
  /** Answers that no server should have given. */
  readonly wrong: string[] = [];
  #ids = new Map<string, string>();
  #number = 0;

  constructor(private readonly setup: WriterSetup) {}

  async write(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const operations = this.#operations();
      await this.#send(operations);
      this.counts.batches++;
      this.acknowledged += operations.length;
      for (const { name, version, json } of operations)
        this.features.set(name, (json as { type: string }).type === 'DELETE' ? undefined : version);
      await pause(this.setup.pauseMs);
    }
  }

  /** Creates; every few of them changes and deletes one of before. */
  #operations(): Operation[] {
    const operations = Array.from({ length: this.setup.operations }, () => this.#create());
    if (!this.setup.named) return operations;
    const living = [...this.features].filter(([, version]) => version !== undefined).slice(-20);
    const [changed, deleted] = living.sort(() => Math.random() - 0.5);
    if (changed) operations.push(this.#update(changed[0], changed[1]! + 1));
    if (deleted && Math.random() < 0.3) operations.push(this.#delete(deleted[0]));
    return operations;
  }

  #create(): Operation {
    const name = `${this.setup.name}-${++this.#number}`;
    const id = randomUUID();
    if (this.setup.named) this.#ids.set(name, id);
    const feature = { ...featureOf(name, 0), ...(this.setup.named ? { id } : {}) };
    return { name, version: 0, json: { type: 'CREATE', feature } };
  }

  #update(name: string, version: number): Operation {
    const json = { type: 'UPDATE', featureId: this.#ids.get(name), feature: featureOf(name, version) };
    return { name, version, json };
  }

  #delete(name: string): Operation {
    return { name, version: -1, json: { type: 'DELETE', featureId: this.#ids.get(name) } };
  }

  async #send(operations: readonly Operation[]): Promise<void> {
    const body = JSON.stringify({ operations: operations.map(({ json }) => json), atomic: true });
    for (let key = randomUUID(); ; ) {
      const outcome = await this.#attempt(body, key);
      if (outcome === 'done') return;
      if (outcome === 'unknown') {
        this.counts.looked++;
        await this.setup.settled();
        if (await this.#isThere(operations[0]!.name)) {
          this.counts.found++;
          return;
        }
        key = randomUUID();
      }
      await pause(PAUSE_MS);
    }
  }

  async #attempt(body: string, key: string): Promise<'done' | 'again' | 'unknown'> {
    this.counts.tries++;
    const server = this.#server();
    const { store } = this.setup;
    const isWell = server.reach === 'all' && store.isUp;
    const faults = server.faults + store.faults;
    const answer = await post(server, body, key);
    // Nothing was wrong with the server from the question to the answer.
    const isFault = isWell && server.faults + store.faults === faults;
    const told = `${this.setup.name} to ${server.name}: ${answer?.status} ${answer?.text.slice(0, 300)}`;
    if (!answer) {
      if (isFault) this.wrong.push(told);
      return 'again';
    }
    if (answer.replayed) this.counts.replayed++;
    if (answer.status === 200) return 'done';
    if (answer.status === 409 && answer.text.includes('Check whether')) return 'unknown';
    if (answer.status === 409 && answer.text.includes('is in progress')) {
      this.counts.running++;
      return 'again';
    }
    if (isFault || ![503, 504].includes(answer.status)) this.wrong.push(told);
    return 'again';
  }

  /** Any server that is reachable; most often one that nothing is wrong with. */
  #server(): FaultyServer {
    const { servers } = this.setup;
    const healthy = servers.filter(({ reach }) => reach === 'all');
    const choice = healthy.length > 0 && Math.random() < 0.8 ? healthy : servers;
    return choice[Math.floor(Math.random() * choice.length)]!;
  }

  async #isThere(name: string): Promise<boolean> {
    for (;;) {
      const server = this.#server();
      const url = `${server.url}/ogc/features/collections/${COLLECTION}/items?name=${name}`;
      const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => undefined);
      const body = (await answer?.json().catch(() => undefined)) as { features: unknown[] } | undefined;
      if (answer?.status === 200 && body) return body.features.length > 0;
      await pause(PAUSE_MS);
    }
  }
}

function featureOf(name: string, version: number): object {
  const [x, y] = [Math.random() * 10, Math.random() * 10].map((one) => Math.round(one * 1e4) / 1e4);
  return {
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [x, y] },
    properties: { name, version },
  };
}

async function post({ url }: FaultyServer, body: string, key: string) {
  try {
    const response = await fetch(`${url}/ogc/features/collections/${COLLECTION}/items/batch`, {
      method: 'POST',
      body,
      headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json', 'idempotency-key': key },
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const { status, headers } = response;
    const answer = { status, text: await response.text(), replayed: headers.has('idempotency-replayed') };
    if (status !== 207) return answer;
    // Nothing of an atomic batch was done; the status of the operation that failed is what counts.
    const { results } = JSON.parse(answer.text) as { results: { status: number }[] };
    return { ...answer, status: results.find((one) => one.status !== 424)?.status ?? 207 };
  } catch {
    return undefined;
  }
}
