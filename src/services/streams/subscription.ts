import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import type { Addressee } from './frames.js';
import { buildScopes, filterLength, type Listener, type Scope, type SubscriberInterest } from './scope.js';

/**
 * Mode of a subscription. `snapshot` ends after the present features. `snapshot-then-delta` continues with changes.
 */
export type StreamMode = 'delta' | 'snapshot' | 'snapshot-then-delta';

/** One interest of one session. All its sent frames are of entries up to `position`. */
export class StreamSubscription implements Listener, Addressee {
  /** Cursor of the last feed entry that was checked for this subscription. */
  position: number;
  /** Number of the next frame; its group knows it while there is one. */
  sequence = 0;
  /** Group for live delivery. Undefined while older entries are being read. */
  group: { leave(subscription: StreamSubscription): void } | undefined;
  ended = false;
  /** The id as JSON. */
  readonly idText: string;
  /** Characters of its filter as JSON. */
  readonly filterLength: number;
  #scopes: Map<number, Scope> | undefined;
  #catalog: CatalogSnapshot | undefined;

  constructor(
    readonly id: string,
    readonly interest: SubscriberInterest,
    readonly mode: StreamMode,
    position: number,
    /** Whether its frames carry their number. */
    readonly numbered = true,
  ) {
    this.position = position;
    this.idText = JSON.stringify(id);
    this.filterLength = filterLength(interest);
  }

  /** True while entries are delivered as they come. */
  get live(): boolean {
    return this.group !== undefined;
  }

  /** From now on entries are not delivered as they come. */
  pause(): void {
    this.group?.leave(this);
  }

  /** Key of everything that frames depend on, except their numbers and access rights. */
  get key(): string {
    const { layers, bbox, filter, datetime } = this.interest;
    return JSON.stringify([
      this.id,
      this.numbered,
      layers ?? null,
      bbox ?? null,
      filter ?? null,
      datetime ?? null,
    ]);
  }

  next(): number | undefined {
    return this.numbered ? this.sequence++ : undefined;
  }

  scope(layerId: number, visible: CatalogSnapshot): Scope | undefined {
    if (this.#catalog !== visible) {
      this.#scopes = buildScopes(this.interest, visible, this.#scopes);
      this.#catalog = visible;
    }
    return this.#scopes!.get(layerId);
  }
}
