/** Similarity of a layer and its source. A probe that could not be made is skipped, with the reason. */

type ParityVerdict = 'pass' | 'warn' | 'fail';

export interface Probe {
  readonly probe: 'count' | 'extent' | 'features' | 'bands' | 'drawing';
  readonly verdict: ParityVerdict | 'skipped';
  /** Reason for a verdict other than pass. */
  readonly reason: string | null;
  /** Measured values. */
  readonly facts: Readonly<Record<string, number | string | readonly (number | string)[] | null>>;
}

export interface LayerParity {
  readonly verdict: ParityVerdict;
  readonly probes: readonly Probe[];
}

export interface Scorecard {
  readonly verdict: ParityVerdict;
  readonly passCount: number;
  readonly warnCount: number;
  readonly failCount: number;
}

export const createProbe = (
  name: Probe['probe'],
  verdict: Probe['verdict'],
  reason: string | null,
  facts: Probe['facts'] = {},
): Probe => ({ probe: name, verdict, reason, facts });

/** The worst of its probes. */
export function computeLayerParity(probes: readonly Probe[]): LayerParity {
  return { verdict: worst(probes.map(({ verdict }) => verdict)), probes };
}

export function computeScorecard(layers: readonly LayerParity[]): Scorecard {
  const count = (verdict: ParityVerdict) => layers.filter((one) => one.verdict === verdict).length;
  return {
    verdict: worst(layers.map(({ verdict }) => verdict)),
    passCount: count('pass'),
    warnCount: count('warn'),
    failCount: count('fail'),
  };
}

function worst(verdicts: readonly Probe['verdict'][]): ParityVerdict {
  if (verdicts.includes('fail')) return 'fail';
  return verdicts.includes('warn') ? 'warn' : 'pass';
}
