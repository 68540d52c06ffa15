import type { ErrorCode } from './errors.js';

/** Cause and remedy of an error, as Markdown sentences of docs/reference/server/errors.md. */
interface Advice {
  readonly when: string;
  readonly action: string;
}

const CERTIFICATES = '[Client certificates](../../how-to/access/client-certificates.md)';

export const ERROR_GUIDE: Readonly<Record<ErrorCode, Advice>> = {
  'invalid-parameter': {
    when: 'A parameter of the path, the query or a header has a value that is not allowed, or is missing.',
    action: 'Correct the parameter that `errors[].name` names. `detail` says which values are allowed.',
  },
  'unknown-parameter': {
    when: 'The query has a parameter that the operation does not have.',
    action:
      'Check its spelling in the API reference (`/docs`), or remove it. An attribute can be a parameter only if it is among the queryables of the collection.',
  },
  'invalid-body': {
    when: 'The body does not fit the schema of the operation, or is not JSON.',
    action:
      'Correct the members in `errors[]`; `path` is the JSON pointer to each. The server changed no data.',
  },
  'invalid-request': {
    when: 'The parameters are valid one by one, but the server cannot carry out the request.',
    action: 'Change the request as `detail` says.',
  },
  unauthenticated: {
    when: 'The resource needs a key or a sign-in, or the credentials are wrong or expired.',
    action:
      'Send an API key in `X-API-Key`, a bearer token or Basic credentials. See [access](access.md) and [sign-in](../../how-to/access/sign-in.md).',
  },
  'entitlement-missing': {
    when: 'The licence in force does not cover this part of the server.',
    action:
      'Install a licence that has the entitlement that `detail` names. See [licences](../../how-to/operate/licence.md).',
  },
  forbidden: {
    when: 'The caller is known, but has no permission for this operation or for these data.',
    action:
      'Request from an administrator a role or a grant. See [roles and policies](../../how-to/access/roles-and-policies.md).',
  },
  client_certificate_missing: {
    when: 'The server requires a client certificate and received none.',
    action: `Configure the client to send its certificate. See ${CERTIFICATES}.`,
  },
  client_certificate_expired: {
    when: 'The client certificate has expired.',
    action: 'Renew the certificate. Compare the clocks of client and server if it is new.',
  },
  client_certificate_not_yet_valid: {
    when: 'The validity of the client certificate starts in the future.',
    action: 'Wait until then, or compare the clocks of client and server.',
  },
  client_certificate_untrusted_issuer: {
    when: 'No certificate profile accepts the issuer of the client certificate.',
    action: 'Use a certificate of an accepted issuer, or add the issuer to a profile.',
  },
  client_certificate_untrusted_chain: {
    when: 'The chain of the client certificate does not lead to an authority of the profile.',
    action: 'Send the intermediate certificates, or add the missing authority to the profile.',
  },
  client_certificate_revoked: {
    when: 'The client certificate, or an authority of its chain, is revoked.',
    action: 'Get a new certificate.',
  },
  client_certificate_invalid_eku: {
    when: 'The certificate is not meant for client authentication (extended key usage).',
    action: 'Get a certificate with the usage `clientAuth`.',
  },
  client_certificate_missing_identity: {
    when: 'The certificate does not have the name that the mapping of the profile reads.',
    action: 'Get a certificate with that name, or change the mapping.',
  },
  client_certificate_forwarding_invalid: {
    when: 'The header in which the proxy forwards the certificate cannot be read, or came more than once.',
    action: `Correct the configuration of the proxy. See ${CERTIFICATES}.`,
  },
  client_certificate_forwarding_untrusted: {
    when: 'A client that is not a trusted proxy sent the header for forwarded certificates.',
    action: 'Add the proxy to [`server.trustProxy`](settings.md#server.trustProxy).',
  },
  client_certificate_wrong_environment: {
    when: 'The profile or the mapping of the certificate is for other environments.',
    action: 'Use the certificate of this environment, or change the profile.',
  },
  client_certificate_unmapped_identity: {
    when: 'The certificate is valid, but no mapping names its holder.',
    action: 'Add a mapping for the holder.',
  },
  client_certificate_insufficient_rbac: {
    when: 'The role that the certificate gives has no permission for this operation.',
    action: 'Map the holder to a role with the permission.',
  },
  'not-found': {
    when: 'The URL does not exist. A collection that the caller may not read also gives this error. If the collection is in other APIs, `detail` and `links` name them.',
    action:
      'Check the identifier, for example in `/ogc/features/collections`, and sign in if the data are restricted.',
  },
  'method-not-allowed': {
    when: 'The URL exists, but not with this method.',
    action: 'Use a method of the header `Allow`.',
  },
  'not-acceptable': {
    when: 'The server does not have the resource in a format that the `Accept` header or the parameter `f` allows.',
    action: 'Request a format that `detail` names.',
  },
  'request-timeout': {
    when: 'The request body took too long to arrive.',
    action:
      'Send it again over a better connection, or in parts where the operation takes resumable uploads.',
  },
  conflict: {
    when: 'The request does not fit the present state: a name is taken, something is in use, or another change came first.',
    action: 'Read the resource again, and then decide.',
  },
  gone: {
    when: 'The resource existed, but was removed or has expired: replicas, results of jobs.',
    action: 'Create it again.',
  },
  'precondition-failed': {
    when: 'The resource has changed since the client read it (`If-Match`).',
    action: 'Read it again, apply the change to what it is now, and send it with the new entity tag.',
  },
  'payload-too-large': {
    when: 'The body, or a part of it, is larger than the operation allows.',
    action: 'Send less at a time. [Limits of requests](request-limits.md) lists the sizes.',
  },
  'uri-too-long': {
    when: 'The path and query are longer than 8 KiB.',
    action: 'Send a long filter or geometry by POST.',
  },
  'unsupported-media-type': {
    when: 'The operation does not accept the media type or the content coding of the body.',
    action: 'Send one that `detail` or the header `Accept-Encoding` names.',
  },
  'range-not-satisfiable': {
    when: 'The requested range starts after the end of the file.',
    action: 'Request a range within the size in `Content-Range`.',
  },
  'expectation-failed': {
    when: 'The header `Expect` has another value than `100-continue`.',
    action: 'Remove the header.',
  },
  unprocessable: {
    when: 'The request is valid, but its data cannot be processed, or an `Idempotency-Key` was used for another request.',
    action: 'Correct the data as `detail` says, or use a new key.',
  },
  'precondition-required': {
    when: 'Reserved for changes that need the header `If-Match`. No operation of this version returns it.',
    action: 'Read the resource, and send its entity tag in `If-Match`.',
  },
  'too-many-requests': {
    when: 'A rate limit or a limit of concurrent work is reached.',
    action: 'Wait for the seconds in `Retry-After`. See [rate limits](../../how-to/access/rate-limits.md).',
  },
  'headers-too-large': {
    when: 'The request headers are larger than the server reads. The response comes without a problem document.',
    action: 'Send fewer or shorter headers and cookies.',
  },
  internal: {
    when: 'The server failed. Its log has the reason (line [1001](logs.md#1001)).',
    action: 'Report the `correlationId` to the operator of the server.',
  },
  'not-implemented': {
    when: 'The operation is part of the interface contract, but this server does not have it. Or the body has an unknown transfer coding.',
    action: 'See [operations](../apis/operations.md) for the list of implemented operations.',
  },
  'bad-gateway': {
    when: 'A remote service that the request needs (a connection, a geocoder) returned an error.',
    action: 'Check the remote service and the credentials of its connection.',
  },
  'gateway-timeout': {
    when: 'A remote service did not respond in time.',
    action: 'Try again later, or check the service.',
  },
  'insufficient-storage': {
    when: 'The disk of the data folder, or the quota of uploads, is full.',
    action: 'Report it to the operator, who can free space.',
  },
  unavailable: {
    when: 'The server is starting or busy, or a database or store that the request needs cannot be reached.',
    action: 'Try again after the seconds in `Retry-After`. Operators: see log line [1006](logs.md#1006).',
  },
  'deadline-exceeded': {
    when: 'The work took longer than a request may.',
    action:
      'Request less at a time: a smaller area, fewer features, a lower resolution. Long work can run as a job.',
  },
};
