/** Peak resident memory of this process, as Linux reports it. */

import { readFileSync, writeFileSync } from 'node:fs';

const KIBIBYTE = 1024;

/** Resets the peak. */
export function resetPeakMemory(): void {
  try {
    writeFileSync('/proc/self/clear_refs', '5');
  } catch {
    // On another system, the peak covers the entire life of the process.
  }
}

/**
 * Maximum resident bytes since `resetPeakMemory`, or since the start. Current resident bytes if the system does not
 * report the peak.
 */
export function peakMemory(): number {
  try {
    const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    return peak === undefined ? process.memoryUsage.rss() : Number(peak) * KIBIBYTE;
  } catch {
    return process.memoryUsage.rss();
  }
}
