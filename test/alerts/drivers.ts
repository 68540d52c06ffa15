import { setTimeout as pause } from 'node:timers/promises';
import type { Fleet } from './fleet.js';

const DRIVERS = 4;
/** Features of each driver. */
const CARS = 5;
/** One edit of so many deletes its feature. */
const DELETED = 17;
/** Id of a feature that does not exist. */
const GONE = '';
const PAUSE_MS = 20;
const ANSWER_MS = 10_000;
const LATE_MS = 120_000;

/** An edit of the log of the database. */
export interface LoggedEdit {
  readonly id: string;
  readonly position?: readonly [number, number];
  readonly deleted?: true;
  /** Name that the driver gave the feature with this edit. */
  readonly name: string;
}

/** Clients that move features through any server, whatever becomes of the servers meanwhile. */
export class Drivers {
  /** Names of the edits that a server acknowledged. */
  readonly acknowledged: string[] = [];
  readonly #counts = Array.from({ length: DRIVERS }, () => 0);
  #isOver = false;
  readonly #running: Promise<unknown>;

  constructor(private readonly fleet: Fleet) {
    this.#running = Promise.all(this.#counts.map((_, driver) => this.#drive(driver)));
  }

  /** Resolves when each driver has moved features again. */
  async goOn(): Promise<void> {
    const before = [...this.#counts];
    for (const late = Date.now() + LATE_MS; this.#counts.some((count, i) => count < before[i]! + CARS); ) {
      if (Date.now() > late) throw new Error(`the drivers do not go on:\n${this.fleet.log().slice(-5000)}`);
      await pause(50);
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  /** All edits in the order of their transactions. */
  async readLog(): Promise<LoggedEdit[]> {
    const rows = await this.fleet.geo<{ id: string; operation: string; x: number; y: number; name: string }>(`
      SELECT feature_id AS id, operation, (geometry #>> '{coordinates,0}')::float8 AS x,
        (geometry #>> '{coordinates,1}')::float8 AS y, attributes ->> 'name' AS name
      FROM graticule_events.outbox ORDER BY cursor`);
    return rows.map(({ id, operation, x, y, name }) =>
      operation === 'delete' ? { id, deleted: true, name } : { id, position: [x, y], name },
    );
  }

  async #drive(driver: number): Promise<void> {
    const cars: string[] = Array.from({ length: CARS }, () => GONE);
    for (let edit = 0; !this.#isOver; edit++) {
      const name = `${driver}-${edit}`;
      const car = edit % CARS;
      const id = cars[car]!;
      const isDeleted = id !== GONE && edit % DELETED === 0;
      const next = await this.#send(driver + edit, id, isDeleted ? undefined : name);
      if (next !== undefined) {
        cars[car] = next;
        this.#counts[driver]!++;
        if (next !== GONE) this.acknowledged.push(name);
      }
      await pause(PAUSE_MS);
    }
  }

  /** Makes, moves or (without a name) deletes a feature. Resolves with its id. Undefined: no server acknowledged that. */
  async #send(turn: number, id: string, name: string | undefined): Promise<string | undefined> {
    const { servers } = this.fleet;
    const server = servers[turn % servers.length]!;
    const coordinates = [Math.random() * 10, Math.random() * 9].map((one) => Math.round(one * 1e6) / 1e6);
    const feature = { type: 'Feature', geometry: { type: 'Point', coordinates }, properties: { name } };
    const items = `${server.url}/ogc/features/collections/cars/items`;
    try {
      const response = await fetch(id === GONE ? items : `${items}/${id}`, {
        method: id === GONE ? 'POST' : name === undefined ? 'DELETE' : 'PUT',
        headers: { 'x-api-key': server.adminKey, 'content-type': 'application/geo+json' },
        ...(name === undefined ? {} : { body: JSON.stringify(feature) }),
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      await response.arrayBuffer();
      // An edit that was not acknowledged can have deleted the feature.
      if (response.status === 404 || (response.ok && name === undefined)) return GONE;
      if (!response.ok) return undefined;
      return id === GONE ? response.headers.get('location')!.split('/').at(-1)! : id;
    } catch {
      return undefined;
    }
  }
}
