import { action, group, report } from '../kit.js';

/** Sign-in of operators. */
export const adminAuth = group({ tag: 'Security and admin auth', scope: 'admin-auth', envelope: 'raw' }, [
  report('GET /auth/config', 'Get Admin Auth Configuration'),
  report('GET /auth/session', 'Get Admin Auth Session'),
  action('POST /auth/bearer', 'Issue Console Operator Bearer'),
  action('POST /auth/logout', 'Logout Admin Auth Session'),
  action('POST /auth/providers/{providerKey}/authorize-url', 'Create Admin Auth Authorize Url'),
  action('POST /auth/providers/{providerKey}/token', 'Request Admin Auth Token'),
  report('GET /auth/providers/{providerKey}/logout-url', 'Get Admin Auth Logout Url'),
]);
