import { group, report, resource } from '../kit.js';

/** Trust in client certificates. */
export const clientCertificates = group(
  { tag: 'Security and admin auth', scope: 'client-certificates', envelope: 'wrapped' },
  [
    ...resource('/security/client-certificates/profiles/{profileId}', {
      list: 'List Client Certificate Trust Profiles',
      create: 'Create Client Certificate Trust Profile',
      get: 'Get Client Certificate Trust Profile',
      update: 'Update Client Certificate Trust Profile',
      remove: 'Disable Client Certificate Trust Profile',
    }),
    ...resource('/security/client-certificates/profiles/{profileId}/mappings/{mappingId}', {
      list: 'List Client Certificate Principal Mappings',
      create: 'Create Client Certificate Principal Mapping',
      update: 'Update Client Certificate Principal Mapping',
      remove: 'Disable Client Certificate Principal Mapping',
    }),
    ...resource('/security/client-certificates/profiles/{profileId}/revocations/{revocationId}', {
      list: 'List Client Certificate Revocations',
      create: 'Add Client Certificate Revocation',
      remove: 'Remove Client Certificate Revocation',
    }),
    report('POST /security/client-certificates/validate', 'Validate Client Certificate'),
  ],
);
