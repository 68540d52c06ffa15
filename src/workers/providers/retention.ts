import { type Retention, USUAL_RETENTION } from '../../core/events.js';

let retention = USUAL_RETENTION;

/** Sets how long outboxes keep events. Call it before the first edit of a thread. */
export function keepEvents(kept: Retention): void {
  retention = kept;
}

export const eventsKept = (): Retention => retention;
