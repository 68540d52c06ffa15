import type { ConfigInputs } from '../core/config/config.js';

/** Options of the command line for a gateway process, in an environment variable. */
export interface GatewayStart {
  flags: NonNullable<ConfigInputs['flags']>;
  configFile?: string;
  /** Device and inode of the data folder when the server started. */
  dataInode?: string | undefined;
}

export const START_VARIABLE = 'GRATICULE_START';

export function readGatewayStart(env: NodeJS.ProcessEnv): GatewayStart {
  const text = env[START_VARIABLE];
  if (!text) throw new Error('A gateway is started by `graticule serve`.');
  return JSON.parse(text) as GatewayStart;
}
