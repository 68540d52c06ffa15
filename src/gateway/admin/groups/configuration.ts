import { group, report } from '../kit.js';

/** What the server is configured to do, and its interface document. */
export const configuration = group({ tag: 'Configuration', scope: 'configuration', envelope: 'raw' }, [
  report('GET /config', 'Get Configuration Documentation'),
  report('GET /openapi.json', 'Get Admin OpenAPI Specification'),
  report('GET /configuration/discover', 'Discover Configuration'),
  report('GET /configuration/metadata', 'Get Configuration Metadata'),
  report('GET /configuration/auto-documentation', 'Get Configuration Auto-Documentation'),
  report('GET /configuration/secrets/validate', 'Validate Configuration Secrets'),
  report('GET /configuration/audit', 'Get Configuration Audit Info'),
  report('GET /configuration/summary', 'Get Configuration Summary'),
]);
