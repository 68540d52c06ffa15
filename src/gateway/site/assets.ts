import { readdirSync, readFileSync } from 'node:fs';
import type { Reply } from '../../core/http/operation.js';
import { createStaticReply, type Forms, groupForms } from './static-files.js';

/**
 * The files below `/assets/`, read and hashed once. A request selects one of these entries or none, so no file path
 * is built from a request.
 */
export class Assets {
  readonly #replies: ReadonlyMap<string, Reply>;

  private constructor(replies: ReadonlyMap<string, Reply>) {
    this.#replies = replies;
  }

  /** Reads the plain files of a directory. Throws when it cannot be read. */
  static read(directory: string): Assets {
    const names = readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
    const replies = new Map<string, Reply>();
    for (const [name, paths] of groupForms(directory, names))
      replies.set(name, createStaticReply(name, readForms(paths)));
    return new Assets(replies);
  }

  /** Undefined for a name that was not there at start. */
  find(name: string): Reply | undefined {
    return this.#replies.get(name);
  }
}

/** The bytes of a file in each coding that the build wrote. */
export function readForms(paths: Forms<string>): Forms<Buffer> {
  return Object.fromEntries(Object.entries(paths).map(([coding, path]) => [coding, readFileSync(path)]));
}
