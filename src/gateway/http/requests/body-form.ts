import type { Compression, ContentCoding } from '../../../core/http/content-coding.js';
import type { Reply } from '../../../core/http/operation.js';
import { compress, decompress } from '../../../services/uploads/compression.js';

type Body = string | Uint8Array;

/** Compressions in progress of responses that many requests share. Concurrent requests await the same promise. */
const pending = new WeakMap<NonNullable<Reply['constant']>, Map<ContentCoding, Promise<Body>>>();

/** The body of a reply in another coding than it has: made now, or before. Rejects for a body that cannot be inflated. */
export function bodyForm(reply: Reply, body: Body, coding: ContentCoding): Body | Promise<Body> {
  const { constant } = reply;
  if (!constant) return code(reply, body, coding);
  const form = coding === 'identity' ? undefined : constant.forms?.[coding];
  return form ?? sharedForm(constant, reply, body, coding);
}

function sharedForm(
  constant: NonNullable<Reply['constant']>,
  reply: Reply,
  body: Body,
  coding: ContentCoding,
): Promise<Body> {
  const forms = pending.get(constant) ?? new Map<ContentCoding, Promise<Body>>();
  pending.set(constant, forms);
  const before = forms.get(coding);
  if (before) return before;
  const form = code(reply, body, coding).finally(() => forms.delete(coding));
  forms.set(coding, form);
  return form;
}

async function code({ encoding, constant }: Reply, body: Body, coding: ContentCoding): Promise<Body> {
  const plain = encoding ? await decompress(body as Uint8Array, encoding) : body;
  if (coding === 'identity') return plain;
  const form = await compress(plain, coding, constant?.isStatic ? 'static' : 'fresh');
  if (constant) keepForm(constant, coding, form);
  return form;
}

/** Keeps a compressed body only if the owner of the response counts its memory. */
function keepForm(constant: NonNullable<Reply['constant']>, coding: Compression, form: Uint8Array): void {
  if (constant.isStatic) constant.forms = { ...constant.forms, [coding]: form };
  else if (constant.secondForm === coding || constant.secondForm === 'any')
    constant.forms = { [coding]: form };
}
