import type { MadeStep } from './make.js';
import { newTally, type TileTally } from './tally.js';

/** Addresses whose failure is logged one by one. */
export const TOLD_FAILURES = 5;

/** Counts results, and reports the progress. */
export class TileProgress {
  readonly tally: TileTally;
  readonly #began = performance.now();
  readonly #before: number;
  /** First failures and losses, as text. */
  readonly failures: string[] = [];

  constructor(
    total: number,
    saved: TileTally | undefined,
    private readonly tell: (tally: TileTally, tilesPerSecond: number) => void,
  ) {
    this.tally = { ...newTally(total), ...saved, total };
    this.#before = this.tally.processed;
  }

  count({ count, at, body, failure, isLossy }: MadeStep): void {
    const { tally } = this;
    tally.processed += count;
    if (body) {
      tally.tiles++;
      tally.bytes += body.byteLength;
    }
    if (failure) {
      tally.failed++;
      this.#note(at, `could not be made: ${failure.message}`);
    }
    if (isLossy) {
      tally.lossy++;
      this.#note(at, 'has no tiles of rasters that could not be read.');
    }
    const seconds = (performance.now() - this.#began) / 1000;
    this.tell(tally, seconds > 0 ? (tally.processed - this.#before) / seconds : 0);
  }

  #note(at: MadeStep['at'], what: string): void {
    if (this.failures.length < TOLD_FAILURES)
      this.failures.push(`Tile ${at!.zoom}/${at!.row}/${at!.column} ${what}`);
  }
}
