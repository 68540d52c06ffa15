import { type Retention, USUAL_RETENTION } from '../../core/streams/events.js';

let retention = USUAL_RETENTION;

/** Sets how long outboxes keep events. Call it before the first edit of a thread. */
export function keepEvents(period: Retention): void {
  retention = period;
}

export const eventsKept = (): Retention => retention;
