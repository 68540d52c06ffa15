import type { Figure, Ratio } from '../support/report.js';

export interface Cost {
  cpu: number;
  wall: number;
}

/** Milliseconds that work takes in this process. */
export async function costOf(work: () => unknown): Promise<Cost> {
  const cpu = process.cpuUsage();
  const begin = performance.now();
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return { cpu: (user + system) / 1e3, wall: performance.now() - begin };
}

/** Costs and ratios by round. */
export class Costs {
  readonly #figures = new Map<string, { 'CPU ms': number[]; 'wall ms': number[] }>();
  readonly #ratios = new Map<string, Ratio>();

  note(name: string, { cpu, wall }: Cost): void {
    const figure = this.#figures.get(name) ?? { 'CPU ms': [], 'wall ms': [] };
    this.#figures.set(name, figure);
    figure['CPU ms'].push(cpu);
    figure['wall ms'].push(wall);
  }

  compare(what: string, value: number, goal: Pick<Ratio, 'goal' | 'most'> = {}): void {
    const ratio = this.#ratios.get(what) ?? { what, rounds: [], ...goal };
    this.#ratios.set(what, ratio);
    ratio.rounds.push(value);
  }

  get figures(): Figure[] {
    return [...this.#figures].map(([name, rounds]) => ({ name, rounds }));
  }

  get ratios(): Ratio[] {
    return [...this.#ratios.values()];
  }
}
