import { ApiError } from '../../core/errors/errors.js';
import type { DocumentStore } from '../../stores/state/documents.js';
import { type KeyVersion, parseKeyVersion, type SecretKeys } from '../access/keys/secret-keys.js';
import { CONNECTION_KIND, type Connection, type StoredConnection } from './connection.js';

/** Passwords of all connections, and the key that they are under. */
export class ConnectionPasswords {
  constructor(
    private readonly documents: DocumentStore,
    private readonly keys: SecretKeys,
    /** Waits until every process has applied the change. */
    private readonly settle: () => Promise<void>,
  ) {}

  /** Whether the setting `security.stateKey` is set. */
  get encrypts(): boolean {
    return this.keys.encrypts;
  }

  /** All versions of the key, oldest first. */
  versions(): Promise<KeyVersion[]> {
    return this.keys.versions();
  }

  /** Whether every password can be read, and by which version of the key. */
  async validate(): Promise<{ isValid: boolean; version: number; message: string }> {
    const { keys } = this;
    const version = (await keys.versions()).at(-1)?.version ?? 0;
    if (!keys.encrypts)
      return {
        isValid: false,
        version,
        message: 'security.stateKey is not set, so the state stores passwords without encryption.',
      };
    const secrets = (await this.documents.list<Connection>(CONNECTION_KIND)).flatMap(
      ({ id, body: { password, name } }) => (password === null ? [] : [{ id, name, password }]),
    );
    const problems = await Promise.all(secrets.map((one) => this.#secretProblem(one)));
    const [problem] = problems.filter((one) => one !== undefined);
    return {
      isValid: problem === undefined,
      version,
      message: problem ?? `${secrets.length} passwords are encrypted and can be read.`,
    };
  }

  async #secretProblem(one: { id: string; name: string; password: string }): Promise<string | undefined> {
    if (parseKeyVersion(one.password) === null)
      return `The password of '${one.name}' is not encrypted in the state. Rotate the key.`;
    try {
      await this.keys.open(one.password, one.id);
      return undefined;
    } catch (error) {
      return `The password of '${one.name}' cannot be read: ${(error as Error).message}`;
    }
  }

  /**
   * Creates a new key and wraps all passwords again, one by one. After an interruption each password is readable, and
   * the next rotation continues. Throws `invalid-request` without `security.stateKey`.
   */
  async rotate(by: string): Promise<{ before: number; after: KeyVersion; secrets: number }> {
    const { keys } = this;
    if (!keys.encrypts)
      throw new ApiError(
        'invalid-request',
        'The setting security.stateKey is not set, so there is no key to rotate.',
      );
    const rotation = await keys.advance();
    let secrets = 0;
    for (const one of await this.documents.list<Connection>(CONNECTION_KIND))
      if (await this.#rewrap(one, by)) secrets++;
    await this.settle();
    return { ...rotation, secrets };
  }

  /** Repeats if another request set another password in between. */
  async #rewrap({ id, etag, body }: StoredConnection, by: string): Promise<boolean> {
    if (body.password === null) return false;
    const password = await this.keys.rewrap(body.password, id);
    try {
      await this.documents.update<Connection>(CONNECTION_KIND, id, by, (now) => ({ ...now, password }), [
        etag,
      ]);
      return true;
    } catch (error) {
      if (!(error instanceof ApiError) || !/not-found|precondition-failed/.test(error.code)) throw error;
      const now = await this.documents.get<Connection>(CONNECTION_KIND, id);
      return now ? this.#rewrap(now, by) : false;
    }
  }
}
