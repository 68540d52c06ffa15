import { readFile } from 'node:fs/promises';
import type { JWK } from 'jose';
import { ENTITLEMENT_KEYS, ENTITLEMENTS, type Licensing } from '../../core/licensing/entitlements.js';
import {
  type Licence,
  type LicenceVerdict,
  MAX_LICENCE_BYTES,
  type ValidationState,
} from '../../core/licensing/licence.js';
import type { LicenceStore } from '../../stores/licensing/licences.js';
import type { Announcements } from '../cluster/announcements.js';
import type { StateClock } from '../observability/latency/state-clock.js';
import { exception, type Log } from '../telemetry/log.js';
import { verifyLicence } from './licence-file.js';
import { readLicenceKeys } from './licence-keys.js';

export interface LicencesDeps {
  /** Settings below `licensing`. */
  readonly config: { readonly enabled: boolean; readonly keys: string; readonly file: string };
  readonly store: LicenceStore;
  readonly announcements: Pick<Announcements, 'on'>;
  readonly clock: Pick<StateClock, 'now' | 'set'>;
  readonly log: Pick<Log, 'write'>;
  /** Waits until every process has applied the change. */
  settle(): Promise<void>;
}

/** An entitlement and whether the licence in force has it. */
interface EntitlementStatus {
  readonly key: string;
  readonly name: string;
  readonly isActive: boolean;
}

export interface LicenceStatus {
  readonly edition: string;
  readonly isValid: boolean;
  readonly validationState: ValidationState;
  readonly licence: Licence | undefined;
  readonly daysUntilExpiry: number | null;
  readonly expiryWarning: boolean;
  readonly entitlements: readonly EntitlementStatus[];
  /** Reason in words, without a full stop. */
  readonly problem: string | undefined;
}

type LoadedLicence = Omit<LicenceVerdict, 'state'> & { readonly state: ValidationState };

const DAY_MS = 86_400_000;
const WARNING_DAYS = 30;
const NONE: LoadedLicence = { state: 'NoLicenseConfigured', problem: 'no licence is configured' };

/**
 * The licence in force: the last uploaded one, or that of `licensing.file`. Its end is compared with the highest time that
 * the state has seen, so a clock that is turned back does not prolong it.
 */
export class Licences implements Licensing {
  #keys: readonly JWK[] = [];
  #loaded: LoadedLicence = NONE;
  #highest = 0;
  #logged: string | undefined;
  #warnedDay: number | undefined;

  constructor(private readonly deps: LicencesDeps) {
    deps.announcements.on('licence', () => this.load());
  }

  get enabled(): boolean {
    return this.deps.config.enabled;
  }

  /** Entitlements of the licence, while it is valid. */
  get entitlements(): readonly string[] {
    const { state, licence } = this.#evaluate();
    return state === 'Valid' ? licence!.entitlements : [];
  }

  /** The licence, while it is valid. */
  get valid(): Licence | undefined {
    const { state, licence } = this.#evaluate();
    return state === 'Valid' ? licence : undefined;
  }

  /** Milliseconds since 1970. Never earlier than a time that the state has seen. */
  now(): number {
    return Math.max(this.deps.clock.now(), this.#highest);
  }

  /** Reads keys, clock and licence. */
  async start(): Promise<void> {
    const { config, log } = this.deps;
    try {
      this.#keys = await readLicenceKeys(config.keys);
    } catch (error) {
      log.write('licence.keys.failed', exception(error));
    }
    await this.look();
  }

  /** Reads the clock of the state and the licence again. Call it every minute. */
  async look(): Promise<void> {
    const { clock, store } = this.deps;
    await clock.set();
    // Without licensing, an idle server must not write every minute.
    if (this.enabled) this.#highest = Math.max(this.#highest, await store.advanceTime());
    await this.load();
  }

  /** Reads the licence in force again. */
  async load(): Promise<void> {
    this.#loaded = await this.#read();
    this.#report();
  }

  /** Verifies a file, and puts it in force if it is valid. Otherwise the licence in force remains. */
  async upload(bytes: Uint8Array, by: string): Promise<LicenceStatus> {
    const verdict = await verifyLicence(bytes, this.#keys, this.now());
    const { state, licence } = verdict;
    if (state === 'Valid') {
      const content = Buffer.from(bytes).toString('latin1').trimEnd();
      await this.deps.store.add(content, by, licence!.licenseId);
      await this.load();
      await this.deps.settle();
    }
    return this.#describe(verdict);
  }

  status(): LicenceStatus {
    return this.#describe(this.#evaluate());
  }

  /** Reads the licence again, which can be a file that changed, and returns its status. */
  async readStatus(): Promise<LicenceStatus> {
    await this.load();
    return this.status();
  }

  async #read(): Promise<LoadedLicence> {
    const { store, config } = this.deps;
    const stored = await store.newest();
    if (stored) return this.#verify(Buffer.from(stored.content, 'latin1'));
    if (config.file === '') return NONE;
    try {
      return await this.#verify((await readFile(config.file)).subarray(0, MAX_LICENCE_BYTES + 1));
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? String(error);
      return { state: 'MissingFile', problem: `${config.file} cannot be read (${reason})` };
    }
  }

  #verify(bytes: Uint8Array): Promise<LicenceVerdict> {
    return verifyLicence(bytes, this.#keys, this.now());
  }

  /** The licence expires while the server runs. */
  #evaluate(): LoadedLicence {
    const { state, licence } = this.#loaded;
    if (state !== 'Valid' || this.now() < Date.parse(licence!.expiresAt)) return this.#loaded;
    return { state: 'Expired', licence: licence!, problem: `the licence expired at ${licence!.expiresAt}` };
  }

  #describe({ state, licence, problem }: LoadedLicence): LicenceStatus {
    const isValid = state === 'Valid';
    const leftMs = licence ? Date.parse(licence.expiresAt) - this.now() : null;
    const daysUntilExpiry = leftMs === null ? null : Math.floor(leftMs / DAY_MS);
    const active = new Set(isValid ? licence!.entitlements : []);
    const known = ENTITLEMENT_KEYS.map((key) => ({
      key: key as string,
      name: ENTITLEMENTS[key].name as string,
    }));
    const others = (licence?.entitlements ?? [])
      .filter((key) => !known.some((one) => one.key === key))
      .map((key) => ({ key, name: key }));
    return {
      edition: isValid ? licence!.edition : 'community',
      isValid,
      validationState: state,
      licence,
      daysUntilExpiry,
      expiryWarning: daysUntilExpiry !== null && daysUntilExpiry < WARNING_DAYS,
      entitlements: [...known, ...others].map((one) => ({ ...one, isActive: active.has(one.key) })),
      problem,
    };
  }

  /** Logs changes of the state, and once a day that the licence expires soon. */
  #report(): void {
    const { log, config } = this.deps;
    const { validationState, licence, problem, daysUntilExpiry, isValid, expiryWarning } = this.status();
    const isUsed = config.enabled || validationState !== 'NoLicenseConfigured';
    if (isUsed && this.#logged !== validationState)
      log.write('licence.state', { State: validationState, Reason: problem ?? licence!.licenseId });
    this.#logged = validationState;
    const day = Math.floor(this.now() / DAY_MS);
    if (!isValid || !expiryWarning || this.#warnedDay === day) return;
    this.#warnedDay = day;
    log.write('licence.expiring', { Days: daysUntilExpiry, ExpiresAt: licence!.expiresAt });
  }
}
