import { group, report } from '../kit.js';

/** Identity providers and whether they can be reached. */
export const identity = group({ tag: 'Identity', scope: 'identity', envelope: 'wrapped' }, [
  report('GET /identity/providers', 'Get Identity Providers'),
  report('GET /identity/providers/{providerType}/test', 'Test Identity Provider Connectivity'),
]);
