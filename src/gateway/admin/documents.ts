import { randomUUID } from 'node:crypto';
import Type, { type Static, type TObject, type TSchema } from 'typebox';
import { notFound } from '../../core/errors/errors.js';
import { formatActor, type Principal } from '../../core/http/operation.js';
import { pathString } from '../../core/http/params.js';
import type { StoredDocument } from '../../stores/state/documents.js';
import { readIfMatch } from './conditional.js';
import type { AdminServiceName, Services, ServicesOf } from './deps.js';
import { tagged } from './entity-tags.js';
import { Acknowledgement, AcknowledgementSchema, TimestampSchema, timestamp } from './envelope.js';
import { createRowBuilders, type Implementation, jsonBody, type Verb } from './kit.js';

const SERVICES = ['settle', 'state'] as const;
type Deps = ServicesOf<typeof SERVICES>;

/** A resource whose instances are versioned documents. */
export interface DocumentResource<
  C extends TSchema,
  U extends TSchema,
  B extends TObject,
  N extends AdminServiceName,
> {
  /** Names of the services that `make`, `isVisible` and `requireRight` take. */
  services: readonly N[];
  /** Kind of the documents in the store, and in messages: `rate limit policy`. */
  kind: string;
  /** Path parameter of the item path. */
  param: string;
  /** Member that contains the id in responses. */
  idMember: string;
  /** Body of POST. */
  create: C;
  /** Body of PUT; members that are absent keep their value. */
  update: U;
  /** Stored members, which responses show between the id and the times. */
  body: B;
  /** Throws `invalid-body` for what the schema cannot express. */
  make: (input: Static<C>, deps: Services<N>, principal: Principal) => Static<B>;
  change(body: Static<B>, input: Static<U>): Static<B>;
  /** The documents are access rules: all processes apply a change before the response is sent. */
  isRule?: boolean;
  /** Whether a document exists for a caller. Without this function every document does. */
  isVisible?: (body: Static<B>, principal: Principal, deps: Services<N>) => boolean;
  /** Throws `forbidden` for a caller who may not make, change or remove such a document. */
  requireRight?: (body: Static<B>, principal: Principal, deps: Services<N>) => void;
}

/** The store of the documents, and what a change waits for. */
function keeping({ isRule = false }: { isRule?: boolean }, { state, settle }: Deps) {
  return isRule
    ? { store: state.documents.announcing('access'), settle }
    : { store: state.documents, settle: async () => {} };
}

/** The five implementations of a resource: list, create (201 with Location), get, update, remove. */
export function documents<
  C extends TSchema,
  U extends TSchema,
  B extends TObject,
  N extends AdminServiceName,
>(path: string, about: DocumentResource<C, U, B, N>): Record<Verb, Implementation> {
  const { implement } = createRowBuilders([...SERVICES, ...about.services]);
  const { kind, param, idMember } = about;
  const item = Type.Object({
    [idMember]: Type.String(),
    ...about.body.properties,
    createdAt: TimestampSchema,
    updatedAt: TimestampSchema,
  });
  const params = { id: pathString(param, `Id of the ${kind}.`) };
  const view = ({ id, body, etag: tag, createdAt, updatedAt }: StoredDocument<object>) => {
    const times = { createdAt: timestamp(createdAt), updatedAt: timestamp(updatedAt) };
    return tagged({ [idMember]: id, ...body, ...times }, tag);
  };
  const isVisible = (principal: Principal, deps: Services<N>) => (stored: StoredDocument<object>) =>
    about.isVisible?.(stored.body as Static<B>, principal, deps) ?? true;
  return {
    list: implement({
      data: Type.Array(item),
      answer: async ({ principal }, deps) =>
        (await deps.state.documents.list<object>(kind)).filter(isVisible(principal, deps)).map(view),
    }),
    create: implement({
      body: jsonBody(about.create),
      data: item,
      status: 201,
      errors: [400],
      location: (data: Record<string, string>) => `${path}/${data[idMember]}`,
      async answer({ body, principal }, deps) {
        const { store, settle } = keeping(about, deps);
        const document = about.make(body as Static<C>, deps, principal) as object;
        about.requireRight?.(document as Static<B>, principal, deps);
        const stored = await store.create(kind, randomUUID(), document, formatActor(principal));
        await settle();
        return view(stored);
      },
    }),
    get: implement({
      params,
      data: item,
      errors: [404],
      async answer({ params: { id }, principal }, deps) {
        const document = await deps.state.documents.get<object>(kind, id);
        return document && isVisible(principal, deps)(document) ? view(document) : missing(kind, id);
      },
    }),
    update: implement({
      params,
      body: jsonBody(about.update),
      data: item,
      errors: [400, 404, 412],
      async answer(x, deps) {
        const { store, settle } = keeping(about, deps);
        const change = (before: object) => {
          const after = about.change(before as Static<B>, x.body as Static<U>);
          for (const body of [before as Static<B>, after]) about.requireRight?.(body, x.principal, deps);
          return after as object;
        };
        const changed = await store.update(
          kind,
          x.params.id,
          formatActor(x.principal),
          change,
          readIfMatch(x),
        );
        await settle();
        return view(changed);
      },
    }),
    remove: implement({
      params,
      data: AcknowledgementSchema,
      errors: [404, 412],
      async answer(x, deps) {
        const { store, settle } = keeping(about, deps);
        const before = await store.get<object>(kind, x.params.id);
        if (before) about.requireRight?.(before.body as Static<B>, x.principal, deps);
        if (!(await store.remove(kind, x.params.id, readIfMatch(x)))) missing(kind, x.params.id);
        await settle();
        return new Acknowledgement(`The ${kind} is deleted.`);
      },
    }),
  };
}

/** Views of all documents of a list, each with the further facts for its id. */
export async function listViews<T extends { readonly id: string }, F, V>(
  list: Promise<readonly T[]>,
  facts: Promise<ReadonlyMap<string, F>>,
  viewOf: (one: T, fact: F | undefined) => V,
): Promise<V[]> {
  const [all, known] = await Promise.all([list, facts]);
  return all.map((one) => viewOf(one, known.get(one.id)));
}

function missing(kind: string, id: string): never {
  throw notFound(kind, id);
}
