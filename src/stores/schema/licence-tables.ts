import type { Generated } from 'kysely';

/** A licence file that was uploaded. The one with the highest number is in force. */
export interface LicenceTable {
  id: Generated<number>;
  content: string;
  uploaded_at: number;
  uploaded_by: string;
}

/** Times about the licence by name, in milliseconds since 1970. */
export interface LicenceMarkTable {
  /** `highest-time`, `grace-started`. */
  name: string;
  value: number;
}

/** Serving units of all servers in a minute. */
export interface CapacityMinuteTable {
  /** Start in milliseconds since 1970. */
  minute: number;
  serving_units: number;
}

/** A time with surge mode. */
export interface CapacitySurgeTable {
  id: Generated<number>;
  started_at: number;
  started_by: string;
  reason: string | null;
  ended_at: number | null;
  ended_by: string | null;
}
