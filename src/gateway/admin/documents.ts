import { randomUUID } from 'node:crypto';
import Type, { type Static, type TObject, type TSchema } from 'typebox';
import { notFound } from '../../core/errors.js';
import type { Principal } from '../../core/operation.js';
import { pathString } from '../../core/params.js';
import type { StoredDocument } from '../../stores/documents.js';
import { Acknowledgement, AcknowledgementSchema, TimestampSchema, timestamp } from './envelope.js';
import { type Implementation, implement, jsonBody, type Verb } from './kit.js';

/** A resource that is no more than versioned documents. */
export interface DocumentResource<C extends TSchema, U extends TSchema, B extends TObject> {
  /** Kind of the documents in the store, and in messages: `rate limit policy`. */
  kind: string;
  /** Path parameter of the item path. */
  param: string;
  /** Member that holds the id in answers. */
  idMember: string;
  /** Body of POST. */
  create: C;
  /** Body of PUT; members that are absent keep their value. */
  update: U;
  /** What is stored, and shown between the id and the times. */
  body: B;
  make(input: Static<C>): Static<B>;
  change(body: Static<B>, input: Static<U>): Static<B>;
}

/** The five implementations of a resource: list, create (201 with Location), get, update, remove. */
export function documents<C extends TSchema, U extends TSchema, B extends TObject>(
  path: string,
  about: DocumentResource<C, U, B>,
): Record<Verb, Implementation> {
  const { kind, param, idMember } = about;
  const item = Type.Object({
    [idMember]: Type.String(),
    ...about.body.properties,
    createdAt: TimestampSchema,
    updatedAt: TimestampSchema,
  });
  const params = { id: pathString(param, `Id of the ${kind}.`) };
  const view = ({ id, body, createdAt, updatedAt }: StoredDocument<object>) => ({
    [idMember]: id,
    ...body,
    createdAt: timestamp(createdAt),
    updatedAt: timestamp(updatedAt),
  });
  return {
    list: implement({
      data: Type.Array(item),
      answer: async (_x, { state }) => (await state.documents.list<object>(kind)).map(view),
    }),
    create: implement({
      body: jsonBody(about.create),
      data: item,
      status: 201,
      errors: [400],
      location: (data: Record<string, string>) => `${path}/${data[idMember]}`,
      async answer({ body, principal }, { state }) {
        const document = about.make(body as Static<C>) as object;
        return view(await state.documents.create(kind, randomUUID(), document, actor(principal)));
      },
    }),
    get: implement({
      params,
      data: item,
      errors: [404],
      answer: async (x, { state }) =>
        view((await state.documents.get<object>(kind, x.params.id)) ?? missing(kind, x.params.id)),
    }),
    update: implement({
      params,
      body: jsonBody(about.update),
      data: item,
      errors: [400, 404],
      async answer({ params: { id }, body, principal }, { state }) {
        const change = (before: object) => about.change(before as Static<B>, body as Static<U>) as object;
        return view(await state.documents.update(kind, id, actor(principal), change));
      },
    }),
    remove: implement({
      params,
      data: AcknowledgementSchema,
      errors: [404],
      async answer({ params: { id } }, { state }) {
        if (!(await state.documents.remove(kind, id))) missing(kind, id);
        return new Acknowledgement(`The ${kind} is deleted.`);
      },
    }),
  };
}

function missing(kind: string, id: string): never {
  throw notFound(kind, id);
}

function actor({ kind, id }: Principal): string {
  return `${kind}:${id}`;
}
