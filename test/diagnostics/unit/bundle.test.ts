import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ALLOWED_HEADERS, type BundleVerdict } from '../../../src/core/diagnostics/bundle.js';
import { readBundle } from '../../../src/workers/diagnostics/read-bundle.js';
import { repetitions } from '../../support/soak.js';
import { bundle, type Draft, envelope, largestBundle, preview } from '../support/bundles.js';

const MUTATIONS = repetitions(import.meta.url, 30_000, 1500);

type AcceptedBundle = Extract<BundleVerdict, { head: unknown }>;

const read = (value: Draft) =>
  readBundle([Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))]);

/** Names of the wrong members; nothing for a legal bundle. */
async function listProblems(value: Draft): Promise<string[]> {
  const verdict = await read(value);
  return 'errors' in verdict ? verdict.errors.map(({ name }) => name) : [];
}

async function accept(value: Draft): Promise<AcceptedBundle & { readonly stored: Draft[] }> {
  const verdict = await read(value);
  if ('errors' in verdict) throw new Error(JSON.stringify(verdict.errors));
  return { ...verdict, stored: verdict.envelopes.map((one) => JSON.parse(Buffer.from(one).toString())) };
}

const body = (members: object) => bundle({ envelopes: [envelope({ responseBody: preview(members) })] });
const one = (members: object) => bundle({ envelopes: [envelope(members)] });
const header = (name: string, value: string) => one({ requestHeaders: [{ name, value }] });
const consent = (members: object) =>
  bundle({ consent: { redactionAcknowledged: true, shareWithSupport: false, ...members } });
const EMOJI = '\u{1F600}';

describe('bounds of a diagnostic bundle', () => {
  const LENGTHS: [string, number, (text: string) => Draft][] = [
    ['/bundleId', 64, (bundleId) => bundle({ bundleId })],
    ['/consent/grantedBy', 256, (grantedBy) => consent({ grantedBy })],
    ['/envelopes/0/method', 16, (method) => one({ method })],
    ['/envelopes/0/normalizedPath', 2048, (normalizedPath) => one({ normalizedPath })],
    ['/envelopes/0/mediaType', 256, (mediaType) => one({ mediaType })],
    ['/envelopes/0/correlationId', 200, (correlationId) => one({ correlationId })],
    ['/envelopes/0/traceId', 200, (traceId) => one({ traceId })],
    ['/envelopes/0/requestHeaders/0/value', 2048, (value) => header('accept', value)],
    ['/envelopes/0/responseBody/preview', 8192, (text) => body({ preview: text })],
  ];
  it.each(LENGTHS)('%s has at most %i UTF-16 code units', async (name, most, make) => {
    expect(await listProblems(make('a'.repeat(most)))).toEqual([]);
    expect(await listProblems(make('a'.repeat(most + 1)))).toEqual([name]);
    expect(await listProblems(make(EMOJI.repeat(most / 2)))).toEqual([]);
    // One code point at the bound, and two code units.
    expect(await listProblems(make('a'.repeat(most - 1) + EMOJI))).toEqual([name]);
    expect(await listProblems(make(''))).toEqual([]);
  });

  it('has 1 to 50 envelopes, and 32 headers in each direction', async () => {
    const many = (n: number) => bundle({ envelopes: Array.from({ length: n }, () => envelope()) });
    expect(await listProblems(many(1))).toEqual([]);
    expect(await listProblems(many(50))).toEqual([]);
    expect(await listProblems(many(0))).toEqual(['/envelopes']);
    expect(await listProblems(many(51))).toEqual(['/envelopes']);
    for (const member of ['requestHeaders', 'responseHeaders']) {
      const headers = (n: number) =>
        one({ [member]: Array.from({ length: n }, () => ({ name: 'accept', value: '' })) });
      expect(await listProblems(headers(32))).toEqual([]);
      expect(await listProblems(headers(33))).toEqual([`/envelopes/0/${member}`]);
    }
  });

  it.each([
    [{ statusCode: 100 }, []],
    [{ statusCode: 599 }, []],
    [{ statusCode: 99 }, ['/envelopes/0/statusCode']],
    [{ statusCode: 600 }, ['/envelopes/0/statusCode']],
    [{ statusCode: 200.5 }, ['/envelopes/0/statusCode']],
    [{ statusCode: '200' }, ['/envelopes/0/statusCode']],
    [{ statusCode: null }, []],
    [{ method: null }, ['/envelopes/0/method']],
    [{ responseBody: preview({ originalByteSize: 0 }) }, []],
    [{ responseBody: preview({ originalByteSize: 26_214_400 }) }, []],
    [
      { responseBody: preview({ originalByteSize: 26_214_401 }) },
      ['/envelopes/0/responseBody/originalByteSize'],
    ],
    [{ responseBody: preview({ originalByteSize: -1 }) }, ['/envelopes/0/responseBody/originalByteSize']],
    [{ responseBody: preview({ truncated: 'false' }) }, ['/envelopes/0/responseBody/truncated']],
    [
      { responseBody: preview({ contentSha256: 'A'.repeat(64) }) },
      ['/envelopes/0/responseBody/contentSha256'],
    ],
    [
      { responseBody: preview({ contentSha256: 'a'.repeat(63) }) },
      ['/envelopes/0/responseBody/contentSha256'],
    ],
    [
      { responseBody: preview({ contentSha256: 'a'.repeat(65) }) },
      ['/envelopes/0/responseBody/contentSha256'],
    ],
    [{ capturedAt: '2026-01-31' }, []],
    [{ capturedAt: `2026-01-31T12:00:00.${'0'.repeat(19)}Z` }, []],
    [{ capturedAt: `2026-01-31T12:00:00.${'0'.repeat(20)}Z` }, ['/envelopes/0/capturedAt']],
    [{ capturedAt: '2026-02-31T12:00:00Z' }, ['/envelopes/0/capturedAt']],
    [{ capturedAt: 'yesterday' }, ['/envelopes/0/capturedAt']],
  ])('checks %j', async (members, problems) => {
    expect([...new Set(await listProblems(one(members)))]).toEqual(problems);
  });

  it.each(['1.00', '1', '1.1', '', 1, null])('refuses the schema version %j', async (schemaVersion) => {
    expect(await listProblems(bundle({ schemaVersion }))).toEqual(['/schemaVersion']);
  });

  it('requires the acknowledgement, but not the consent to share', async () => {
    expect(await listProblems(consent({ redactionAcknowledged: false }))).toEqual([
      '/consent/redactionAcknowledged',
    ]);
    expect(await listProblems(consent({}))).toEqual([]);
    expect(await listProblems(consent({ shareWithSupport: 'yes' }))).toEqual(['/consent/shareWithSupport']);
  });

  it('refuses unknown members at each level, also those that differ in case', async () => {
    const unknown = { extra: 1 };
    const wrong = [
      bundle(unknown),
      bundle({ BundleId: 'x' }),
      consent(unknown),
      one(unknown),
      one({ requestHeaders: [{ name: 'accept', value: '', ...unknown }] }),
      body(unknown),
      `{"__proto__":{},${JSON.stringify(bundle()).slice(1)}`,
    ];
    for (const value of wrong) expect(await listProblems(value)).not.toEqual([]);
  });

  it('requires all members that are not optional', async () => {
    const optional = ['bundleId', 'statusCode', 'mediaType', 'correlationId', 'traceId', 'capturedAt'];
    optional.push('requestHeaders', 'responseHeaders', 'requestBody', 'responseBody', 'grantedBy');
    optional.push('preview', 'contentSha256');
    const remove = (holder: Draft, name: string) =>
      JSON.parse(JSON.stringify(holder, (key, value) => (key === name ? undefined : value)));
    for (const name of optional) expect(await listProblems(remove(bundle(), name)), name).toEqual([]);
    const required = ['schemaVersion', 'contentClassification', 'consent', 'envelopes', 'method', 'value'];
    required.push('redactionAcknowledged', 'shareWithSupport', 'normalizedPath', 'name');
    required.push('originalByteSize', 'redactionApplied', 'truncated');
    for (const name of required) expect(await listProblems(remove(bundle(), name)), name).not.toEqual([]);
  });

  it('accepts only the headers of the list, in any case', async () => {
    for (const name of ALLOWED_HEADERS)
      expect(await listProblems(header(name.toUpperCase(), 'x')), name).toEqual([]);
    const refused = ['Authorization', 'cookie', 'SET-COOKIE', ' accept', 'accept ', 'Auth orization', ''];
    refused.push('x-api-key', 'user-agent', 'accept\u0000', 'a'.repeat(128), 'a'.repeat(129), '\u0130d');
    for (const name of refused)
      expect(await listProblems(header(name, 'x')), name).toEqual(['/envelopes/0/requestHeaders/0/name']);
  });

  it('accepts the largest bundle, and refuses other texts without a crash', async () => {
    const largest = await accept(largestBundle());
    expect(largest.envelopes).toHaveLength(50);
    expect(await listProblems(largestBundle('\u4e2d'))).toEqual([]);
    const texts = [
      '',
      '[]',
      'null',
      '{',
      '"a"',
      '['.repeat(100_000),
      `{"a":${'['.repeat(9)}${']'.repeat(9)}}`,
    ];
    texts.push(JSON.stringify(Array.from({ length: 30_000 }, () => 1)));
    for (const text of texts) expect(await listProblems(text), text.slice(0, 20)).not.toEqual([]);
    expect('errors' in (await readBundle([Buffer.from([0x7b, 0xff, 0x7d])]))).toBe(true);
  });
});

describe('secrets in a diagnostic bundle', () => {
  const PEM = `-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJ\n-----END RSA PRIVATE KEY-----`;
  const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9';
  const SECRETS: [string, string][] = [
    ['github', `ghp_${'a1B2'.repeat(9)}`],
    ['jwt', JWT],
    ['private-key', PEM],
    ['aws-access-key-id', 'AKIAIOSFODNN7EXAMPLQ'],
    ['url-password', 'https://me:hunter2@'],
    ['authorization', 'Bearer abcdefghijklmnop1234567'],
  ];
  it.each(SECRETS)('replaces %s in a preview and in a header', async (kind, secret) => {
    const text = `before ${secret} after`;
    const both = one({
      requestHeaders: [{ name: 'traceparent', value: text }],
      responseBody: preview({ preview: `${text} // secretlint-disable` }),
    });
    const { head, stored } = await accept(both);
    expect(head.removed).toEqual([
      { pointer: '/envelopes/0/requestHeaders/0/value', kind },
      { pointer: '/envelopes/0/responseBody/preview', kind },
    ]);
    expect([head.declared, head.classification]).toEqual(['internal', 'secret-suspected']);
    expect(JSON.stringify(stored)).not.toContain(JSON.stringify(secret).slice(1, -1));
    expect(stored[0].responseBody).toMatchObject({
      preview: `before [${kind}] after // secretlint-disable`,
      redactionApplied: true,
    });
    expect(stored[0].requestBody.redactionApplied).toBe(false);
  });

  it('keeps the length limit, and the text of a bundle without secrets', async () => {
    const long = await accept(body({ preview: `a://b:c@${'d'.repeat(8184)}` }));
    expect(long.stored[0].responseBody.preview).toHaveLength(8192);
    const { stored, head } = await accept(one({ normalizedPath: '/a/{id}?b=raw&c={c}&d' }));
    expect(head.classification).toBe('internal');
    expect(stored).toEqual([envelope({ normalizedPath: '/a/{id}?b={value}&c={c}&d' })]);
  });

  it('lists the correlation ids, and the digest of the received bytes', async () => {
    const { head, correlationIds } = await accept(bundle({ envelopes: [envelope(), envelope()] }));
    expect(correlationIds).toEqual(['c-1']);
    expect(head.digest).toMatch(/^[0-9a-f]{64}$/);
  });
});

/** Numbers from 0 to 1 in an order that a seed fixes. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('mutated diagnostic bundles', () => {
  it('are accepted only if an independent validator accepts them', async () => {
    const seed = Date.now() >>> 0;
    const random = seeded(seed);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
    const values = [
      ...[null, true, false, 0, 1, 99, 100, 599, 600, 26_214_400, 26_214_401, 1.5, 1e300, -1],
      ...['', '1.0', '1.00', 'public', 'secret-suspected', 'Accept', 'Cookie', 'a'.repeat(64), '2026-02-30'],
      ...[15, 16, 17, 64, 65, 128, 129, 200, 201, 256, 257, 2048, 2049, 8192, 8193].map((n) => 'b'.repeat(n)),
      ...[8, 9, 32, 33, 100, 101, 1024, 1025, 4096, 4097].map((n) => EMOJI.repeat(n)),
      ...[[], {}, [{}], preview(), [{ name: 'etag', value: '' }], [envelope()], '\ud83d', 'etag\u0000'],
    ];
    const mutate = (): string => {
      const draft = bundle({ envelopes: Array.from({ length: pick([1, 1, 2, 50, 51]) }, () => envelope()) });
      const places: [Draft, string | number][] = [];
      const walk = (holder: Draft): void => {
        for (const name of Object.keys(holder)) {
          places.push([holder, name]);
          if (typeof holder[name] === 'object' && holder[name] !== null) walk(holder[name]);
        }
      };
      walk(draft);
      const [holder, name] = pick(places);
      const kind = random();
      if (kind < 0.6) holder[name] = pick(values);
      else if (kind < 0.75) delete holder[name];
      else if (kind < 0.9 && !Array.isArray(holder)) holder[pick(['extra', 'Method', '__proto__ '])] = 1;
      else if (Array.isArray(holder))
        holder.push(...Array.from({ length: pick([31, 49, 50]) }, () => holder[0]));
      return JSON.stringify(draft).replaceAll('null,null', 'null');
    };
    const texts = Array.from({ length: MUTATIONS }, mutate);
    const oracle = spawnSync('python3', [fileURLToPath(new URL('bundle-oracle.py', import.meta.url))], {
      input: texts.join('\n'),
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    });
    expect(oracle.stderr).toBe('');
    const legal = oracle.stdout.trim().split('\n');
    expect(legal).toHaveLength(texts.length);
    const differing: string[] = [];
    for (const [i, text] of texts.entries()) {
      const isAccepted = !('errors' in (await readBundle([Buffer.from(text)])));
      if (isAccepted !== (legal[i] === '1')) differing.push(text.slice(0, 300));
    }
    expect(differing, `seed ${seed}`).toEqual([]);
    expect(legal.filter((one) => one === '1').length).toBeGreaterThan(MUTATIONS / 20);
    expect(legal.filter((one) => one === '0').length).toBeGreaterThan(MUTATIONS / 20);
  }, 300_000);
});
