import { openConfiguredState } from '../stores/state/state.js';
import { resolveConfig } from './settings.js';

export interface RedriveOptions {
  dataDir?: string;
  config?: string;
  limit?: number;
}

const DEFAULT_LIMIT = 500;

/** `graticule events redrive [WEBHOOK]`: has the server of a data folder deliver dead letters again, running or not. */
export async function redrive(webhook: string | undefined, options: RedriveOptions): Promise<void> {
  const { config } = resolveConfig({ 'data.directory': options.dataDir }, options.config);
  const state = await openConfiguredState(config);
  try {
    const count = await state.deliveries.redrive(
      webhook === undefined ? undefined : [webhook],
      options.limit ?? DEFAULT_LIMIT,
    );
    process.stdout.write(`${count} events will be delivered again\n`);
  } finally {
    await state.close();
  }
}
