import { group, report } from '../kit.js';

/** Replay of feature changes. */
export const featureEvents = group({ tag: 'Feature events', scope: 'feature-events', envelope: 'raw' }, [
  report('GET /feature-events/replay', 'Replay feature-change events'),
]);
