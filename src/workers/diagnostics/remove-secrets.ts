import type { Bundle, BundleEnvelope, RemovedSecret } from '../../core/diagnostics/bundle.js';
import { findSecrets, maskTexts } from '../../core/diagnostics/secrets.js';

/** Characters of short texts that are scanned together. */
const BATCH = 8192;
/** No rule finds a secret across it. */
const SEPARATOR = '\0';

/** A text of a bundle, and how to replace it. */
interface Place {
  readonly pointer: string;
  readonly text: string;
  readonly max: number;
  replace(text: string): void;
}

/** A copy of a bundle whose secrets are replaced by their kinds, within the length limits, and the list of them. */
export async function removeSecrets(bundle: Bundle): Promise<{ texts: Bundle; removed: RemovedSecret[] }> {
  const texts = structuredClone(bundle);
  for (const envelope of texts.envelopes)
    envelope.normalizedPath = replaceQueryValues(envelope.normalizedPath).slice(0, TEXTS.normalizedPath);
  const removed: RemovedSecret[] = [];
  for (const batch of group(listPlaces(texts))) {
    const found = await findSecrets(batch.map(({ text }) => text).join(SEPARATOR));
    if (found.length === 0) continue;
    let offset = 0;
    for (const place of batch) {
      const end = offset + place.text.length;
      const own = found
        .filter((one) => one.start < end && one.end > offset)
        .map(({ kind, ...one }) => ({
          ...{ kind, start: Math.max(one.start - offset, 0) },
          end: Math.min(one.end - offset, place.text.length),
        }));
      if (own.length > 0) place.replace(maskTexts(place.text, own).slice(0, place.max));
      removed.push(...own.map(({ kind }) => ({ pointer: place.pointer, kind })));
      offset = end + 1;
    }
  }
  return { texts, removed };
}

/** Values of a query become placeholders, as clients must send them. */
function replaceQueryValues(path: string): string {
  const question = path.indexOf('?');
  if (question < 0) return path;
  const query = path.slice(question).replace(/=(?!\{[^{}]*\}(?:&|$))[^&]+/g, '={value}');
  return path.slice(0, question) + query;
}

function* group(places: Iterable<Place>): Generator<Place[]> {
  let batch: Place[] = [];
  let length = 0;
  for (const place of places) {
    if (batch.length > 0 && length + place.text.length > BATCH) {
      yield batch;
      batch = [];
      length = 0;
    }
    batch.push(place);
    length += place.text.length + 1;
  }
  if (batch.length > 0) yield batch;
}

function* listPlaces(bundle: Bundle): Generator<Place> {
  yield* place(bundle, 'bundleId', '', 64);
  yield* place(bundle.consent, 'grantedBy', '/consent', 256);
  for (const [i, envelope] of bundle.envelopes.entries())
    yield* listEnvelopePlaces(envelope, `/envelopes/${i}`);
}

const TEXTS = {
  method: 16,
  normalizedPath: 2048,
  mediaType: 256,
  correlationId: 200,
  traceId: 200,
} as const;

function* listEnvelopePlaces(envelope: BundleEnvelope, at: string): Generator<Place> {
  for (const [name, max] of Object.entries(TEXTS))
    yield* place(envelope, name as keyof typeof TEXTS, at, max);
  for (const member of ['requestHeaders', 'responseHeaders'] as const)
    for (const [i, header] of (envelope[member] ?? []).entries())
      yield* place(header, 'value', `${at}/${member}/${i}`, 2048);
  for (const member of ['requestBody', 'responseBody'] as const) {
    const body = envelope[member];
    if (body?.preview === undefined) continue;
    const { preview } = body;
    yield {
      ...{ pointer: `${at}/${member}/preview`, text: preview, max: 8192 },
      replace(text) {
        Object.assign(body, { preview: text, redactionApplied: true });
      },
    };
  }
}

function* place<N extends string>(
  holder: { [K in N]?: string | undefined },
  name: N,
  at: string,
  max: number,
): Generator<Place> {
  const text = holder[name];
  if (text === undefined || text === '') return;
  yield {
    ...{ pointer: `${at}/${name}`, text, max },
    replace(replaced) {
      Object.assign(holder, { [name]: replaced });
    },
  };
}
