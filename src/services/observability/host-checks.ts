import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { certificateSecondsLeft, clockSkew } from '../telemetry/host-metrics.js';
import type { Log } from '../telemetry/log.js';

/** State of a part of the machine on which clients depend. The server continues to respond if it is not healthy. */
export interface HostCheck {
  readonly name: 'tls-certificate' | 'clock';
  readonly status: 'Healthy' | 'Degraded' | 'Unhealthy';
  readonly description: string;
}

interface HostCheckOptions {
  /** File of the certificate of the server (PEM). Undefined without TLS. */
  readonly certificate: string | undefined;
  /** Time of the state. Milliseconds since 1970. */
  readStateTime(): Promise<number>;
  readonly log: Pick<Log, 'write'>;
}

const LOOK_MS = 60_000;
const DAY_MS = 86_400_000;
/** Days before its end from which a certificate is reported. */
const EXPIRING_DAYS = 14;
const SKEW_MS = 5000;

/** Checks the certificate and the clock of this machine every minute. A problem is logged when it is found, then once a day. */
export class HostChecks {
  readonly #checks = new Map<HostCheck['name'], HostCheck>();
  readonly #logged = new Map<HostCheck['name'], { status: HostCheck['status']; at: number }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: HostCheckOptions) {}

  start(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_MS).unref();
    void this.look();
  }

  /** Looks again. A check that fails to look keeps its last result. */
  async look(): Promise<void> {
    await Promise.allSettled([this.#lookAtCertificate(), this.#lookAtClock()]);
  }

  list(): readonly HostCheck[] {
    return [...this.#checks.values()];
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #lookAtCertificate(): Promise<void> {
    const { certificate } = this.options;
    if (certificate === undefined) return;
    const { validTo } = new X509Certificate(await readFile(certificate));
    const leftMs = Date.parse(validTo) - Date.now();
    certificateSecondsLeft.cell().set(leftMs / 1000);
    const days = Math.floor(leftMs / DAY_MS);
    const [expired, expires] = leftMs <= 0 ? [true, 'expired'] : [false, 'expires'];
    const status = expired ? 'Unhealthy' : days < EXPIRING_DAYS ? 'Degraded' : 'Healthy';
    const end = new Date(validTo).toISOString();
    this.#set(
      { name: 'tls-certificate', status, description: `The TLS certificate ${expires} at ${end}.` },
      () =>
        this.options.log.write(expired ? 'http.certificate.expired' : 'http.certificate.expiring', {
          End: end,
          Days: days,
        }),
    );
  }

  async #lookAtClock(): Promise<void> {
    const sent = Date.now();
    const time = await this.options.readStateTime();
    const received = Date.now();
    // The state read its clock at some time between.
    const skew = (sent + received) / 2 - time;
    const uncertain = (received - sent) / 2;
    clockSkew.cell().set(skew / 1000);
    const isSkewed = Math.abs(skew) - uncertain > SKEW_MS;
    const seconds = Math.round(Math.abs(skew) / 1000);
    const direction = skew < 0 ? 'behind' : 'ahead of';
    const description = isSkewed
      ? `The clock of this machine is ${seconds} seconds ${direction} the clock of the state.`
      : 'The clocks of this machine and of the state agree.';
    this.#set({ name: 'clock', status: isSkewed ? 'Degraded' : 'Healthy', description }, () =>
      this.options.log.write('process.clock.skewed', { Seconds: Math.round(skew / 1000) }),
    );
  }

  #set(check: HostCheck, report: () => void): void {
    this.#checks.set(check.name, check);
    if (check.status === 'Healthy') return void this.#logged.delete(check.name);
    const before = this.#logged.get(check.name);
    const now = performance.now();
    if (before?.status === check.status && now - before.at < DAY_MS) return;
    this.#logged.set(check.name, { status: check.status, at: now });
    report();
  }
}
