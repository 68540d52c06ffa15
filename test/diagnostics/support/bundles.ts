/** Diagnostic bundles for tests. */

// biome-ignore lint/suspicious/noExplicitAny: bundles are made wrong on purpose
export type Draft = any;

export const preview = (members: object = {}): Draft => ({
  ...{ preview: 'a', contentSha256: 'a'.repeat(64), originalByteSize: 1 },
  ...{ redactionApplied: false, truncated: false, ...members },
});

/** An envelope with all members. */
export const envelope = (members: object = {}): Draft => ({
  ...{ method: 'GET', normalizedPath: '/api/v1/layers/{id}?f={f}', statusCode: 200 },
  ...{ mediaType: 'application/json', correlationId: 'c-1', traceId: 't-1' },
  capturedAt: '2026-01-31T12:00:00Z',
  requestHeaders: [{ name: 'Accept', value: 'application/json' }],
  responseHeaders: [{ name: 'ETag', value: '"1"' }],
  ...{ requestBody: preview(), responseBody: preview(), ...members },
});

export const bundle = (members: object = {}): Draft => ({
  ...{ schemaVersion: '1.0', bundleId: 'mine', contentClassification: 'internal' },
  consent: { redactionAcknowledged: true, shareWithSupport: true, grantedBy: 'me' },
  ...{ envelopes: [envelope()], ...members },
});

/** The largest legal bundle of one character. */
export function largestBundle(fill = 'a'): Draft {
  const headers = Array.from({ length: 32 }, () => ({ name: 'x-request-id', value: fill.repeat(2048) }));
  const body = preview({ preview: fill.repeat(8192), originalByteSize: 26_214_400 });
  const one = envelope({
    ...{ method: fill.repeat(16), normalizedPath: fill.repeat(2048), statusCode: 599 },
    ...{ mediaType: fill.repeat(256), correlationId: fill.repeat(200), traceId: fill.repeat(200) },
    ...{ requestHeaders: headers, responseHeaders: headers, requestBody: body, responseBody: body },
  });
  return bundle({
    bundleId: fill.repeat(64),
    consent: { redactionAcknowledged: true, shareWithSupport: true, grantedBy: fill.repeat(256) },
    envelopes: Array.from({ length: 50 }, () => one),
  });
}
