import { group, report } from '../kit.js';

/** Sources that are queried where they are. */
export const federation = group({ tag: 'Federation', scope: 'federation', envelope: 'raw' }, [
  report('GET /federation/sources', 'List Federated Sources'),
  report('GET /federation/sources/{id}/plan', 'Plan Federated Query'),
]);
