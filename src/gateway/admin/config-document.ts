/** One configuration property and its current value. */
export interface ConfigEntry {
  /** Dotted path in the configuration file: `observability.prometheus.path`. */
  path: string;
  /** JSON Schema type name: string, integer, number, boolean, array, object. */
  type: string;
  default?: unknown;
  /** Absent when unset. Never given out when `secret`. */
  value?: unknown;
  /** Where the value comes from. */
  source: 'default' | 'file' | 'environment' | 'flag';
  /** Environment variable that sets it. */
  env?: string;
  description: string;
  secret?: boolean;
  required?: boolean;
  /** Rules in words: `1 to 65535`. */
  rules?: readonly string[];
}

/** The configuration in effect. */
export interface ConfigDocument {
  readonly environment: string;
  /** Directory that relative paths start from. */
  readonly contentRoot: string;
  entries(): readonly ConfigEntry[];
}
