import { randomUUID } from 'node:crypto';
import type { AuditWorld, CallOptions } from './audit-world.js';
import { multipart } from './multipart.js';

type Maybe<T> = T | Promise<T>;

/** How an operation is called so that it answers `status`. */
export interface OperationCase {
  /** Values of the path; called anew for each request, so that what is deleted was there. */
  readonly path?: (w: AuditWorld) => Maybe<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: (w: AuditWorld) => Maybe<unknown>;
  readonly bytes?: () => NonNullable<CallOptions['bytes']>;
  readonly headers?: Readonly<Record<string, string>>;
  /** The operation needs If-Match, and another state is a conflict. */
  readonly requiresIfMatch?: true;
  /** 200 when absent. */
  readonly status?: number;
  /** Path of the GET that shows what the operation changes, where it is another one. */
  readonly shownBy?: string;
  /** The tag of the resource, where no GET shows it; null where it has none. */
  readonly tag?: ((w: AuditWorld, path: string) => Promise<string | null>) | null;
}

export const id = (make: (w: AuditWorld) => Promise<string>, name = 'id') => ({
  path: async (w: AuditWorld) => ({ [name]: await make(w) }),
});
export const nothing = (...names: string[]) => ({
  path: () => Object.fromEntries(names.map((name) => [name, randomUUID()])),
  status: 404,
});
export const form =
  (parts: Record<string, string>, file: [name: string, content: string, field?: string]) => () => {
    const [filename, content, name = 'file'] = file;
    const texts = Object.entries(parts).map(([part, text]) => ({ name: part, content: text }));
    const { contentType, body } = multipart([...texts, { name, content, filename }]);
    return { type: contentType, content: new Uint8Array(body) };
  };
export const POINTS = 'id,lon,lat\n1,7,47\n';
/** No host of this name is in remote.allow: operations that read other servers refuse it when they have read the body. */
export const ELSEWHERE = 'http://elsewhere.invalid/service';
