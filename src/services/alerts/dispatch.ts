import { randomUUID } from 'node:crypto';
import { CHANNELS, type Channel, formatLane } from '../../core/alerts/alerts.js';
import type { Notice } from '../../core/cluster/notes.js';
import { type Config, ConfigError } from '../../core/config/config.js';
import type { DeliveryStore, LaneState } from '../../stores/streams/deliveries.js';
import { DeliveryDispatcher, type DispatcherPoll } from '../deliveries/dispatcher.js';
import type { LaneMeter } from '../deliveries/lane.js';
import type { Schedule } from '../deliveries/schedule.js';
import type { Notices } from '../notices/notices.js';
import * as metrics from '../telemetry/channel-metrics.js';
import { exception, type Log } from '../telemetry/log.js';
import { formatNotice, joinBodies } from './channels/content.js';
import { createChannels } from './channels/index.js';
import type { AlertStream } from './stream.js';

export interface AlertDispatchOptions extends Schedule {
  config: Pick<Config, 'alerts' | 'remote'>;
  store: DeliveryStore;
  log: Log;
  stream: Pick<AlertStream, 'publish' | 'forward'> & Notices;
  /** Name of this process among the processes that share the state database. */
  instance: string;
}

export interface ChannelState {
  readonly channel: Channel;
  readonly paused: boolean;
  readonly isConfigured: boolean;
  readonly pendingCount: number;
  /** Messages whose last attempt failed. They are also pending. */
  readonly failedCount: number;
  readonly deadLetterCount: number;
  /** Time of the next attempt, in milliseconds since 1970, if the circuit is open because of failures. */
  readonly opensAt: number | null;
  /** Age of the oldest waiting message in milliseconds. Null if none waits. */
  readonly oldestMs: number | null;
}

const LANES = CHANNELS.map(formatLane);
const SEVERITIES: readonly Notice['severity'][] = ['warning', 'error'];

/** Sends alerts through the channels of the configuration, and notices to operators through some of them. */
export class AlertDispatch {
  readonly #options: AlertDispatchOptions;
  readonly #dispatcher: DeliveryDispatcher;
  readonly configured: ReadonlySet<Channel>;

  /** Throws `ConfigError` for a wrong target. */
  constructor(options: AlertDispatchOptions) {
    this.#options = options;
    const { config, stream } = options;
    const targets = createChannels(config, (frame) => stream.publish(frame));
    this.configured = new Set(targets.keys());
    const absent = config.alerts.notices.channels.find((channel) => !targets.has(channel));
    if (absent !== undefined)
      throw new ConfigError([
        `alerts.notices.channels: '${absent}' has no target. Set it in alerts.channels.${absent}, or remove it here.`,
      ]);
    const lanes = [...targets].map(([channel, { sender, cap }]) => ({
      ...{ name: formatLane(channel), sender, cap, join: joinBodies },
      meter: createMeter(channel, channel === 'digest'),
    }));
    const unattended = new Map(
      CHANNELS.filter((channel) => !targets.has(channel)).map((channel) => [formatLane(channel), channel]),
    );
    this.#dispatcher = new DeliveryDispatcher(
      {
        ...options,
        notices: stream,
        unattended: [...unattended.keys()],
        meterOf: (name) => createMeter(unattended.get(name)!, false),
        counted({ pending, dead }) {
          metrics.alertBacklog.cell().set(pending);
          metrics.alertDeadLetters.cell().set(dead);
        },
      },
      lanes,
    );
    stream.forward((notice) => void this.#forward(notice));
  }

  async list(): Promise<ChannelState[]> {
    return this.describe(await this.#options.store.laneStates(LANES));
  }

  /** States of the channels, from states of lanes that were read before. */
  describe(states: readonly LaneState[]): ChannelState[] {
    const byLane = new Map(states.map((state) => [state.name, state]));
    return CHANNELS.map((channel) => {
      const state = byLane.get(formatLane(channel));
      return {
        channel,
        paused: state?.isPaused ?? false,
        isConfigured: this.configured.has(channel),
        pendingCount: state?.pending ?? 0,
        failedCount: state?.failed ?? 0,
        deadLetterCount: state?.dead ?? 0,
        opensAt: state?.opensAt ?? null,
        oldestMs: state?.oldestMs ?? null,
      };
    });
  }

  /** Whether this process searches for alerts to send, and its last search. */
  get activity(): DispatcherPoll & { readonly isRunning: boolean } {
    return { ...this.#dispatcher.poll, isRunning: this.#dispatcher.isRunning };
  }

  /** Pauses or resumes a channel on all servers. Its alerts wait. */
  async setPaused(channel: Channel, paused: boolean): Promise<ChannelState> {
    await this.#options.store.setPaused(formatLane(channel), paused);
    return (await this.list()).find((one) => one.channel === channel)!;
  }

  /** Sends dead letters again, the oldest first. Returns their number. */
  redrive(maxCount: number): Promise<number> {
    return this.#options.store.redrive(LANES, maxCount);
  }

  start(): void {
    this.#dispatcher.start();
  }

  close(): Promise<void> {
    return this.#dispatcher.close();
  }

  /** A notice about a failing channel is not sent through this channel. */
  async #forward(notice: Notice): Promise<void> {
    const { config, store, log } = this.#options;
    const { channels, minSeverity } = config.alerts.notices;
    if (SEVERITIES.indexOf(notice.severity) < SEVERITIES.indexOf(minSeverity)) return;
    const lanes = channels.map(formatLane).filter((lane) => lane !== notice.subject);
    const eventId = `notice-${randomUUID()}`;
    const body = formatNotice(notice);
    try {
      await store.record([...new Set(lanes)].map((sink) => ({ sink, eventId, body })));
    } catch (error) {
      log.write('webhook.deliveries.uncounted', exception(error));
    }
  }
}

/** `isDigest`: joined messages are the purpose of the channel. */
function createMeter(channel: Channel, isDigest: boolean): LaneMeter {
  const latency = (outcome: string, ms: number) => metrics.alertLatency.cell(channel, outcome).observe(ms);
  return {
    sent(ageMs, deliveries) {
      metrics.alertsSucceeded.cell(channel).inc(deliveries);
      latency('succeeded', ageMs);
    },
    failed(ageMs, isRetried) {
      metrics.alertsFailed.cell(channel).inc();
      latency(isRetried ? 'failed' : 'dead_lettered', ageMs);
    },
    dead: (deliveries) => metrics.alertsDeadLettered.cell(channel).inc(deliveries),
    joined(deliveries) {
      if (!isDigest) metrics.alertsRateCapped.cell(channel).inc(deliveries);
    },
    deferred: () => metrics.alertsDeferred.cell(channel).inc(),
  };
}
