import { basename } from 'node:path';
import type { MultiBar, SingleBar } from 'cli-progress';

/** A bar is shown for conversions that take longer. */
const PATIENCE_MS = 500;

/**
 * Progress bars in the terminal for files under conversion, each with its progress and the remaining time. `tell`
 * reports the progress of a file, from 0 to 1. `end` restores the terminal.
 */
export async function conversionBars(stream: NodeJS.WriteStream) {
  const { MultiBar, Presets } = (await import('cli-progress')).default;
  const options = { format: '  converting {file} {bar} {percentage} %, {eta_formatted} left', barsize: 24 };
  let bars: MultiBar | undefined;
  const files = new Map<string, { part: number; patience: NodeJS.Timeout; bar?: SingleBar }>();

  function show(path: string): void {
    const file = files.get(path)!;
    bars ??= new MultiBar(
      { ...options, stream, clearOnComplete: true, hideCursor: true },
      Presets.shades_classic,
    );
    file.bar = bars.create(100, Math.floor(file.part * 100), { file: basename(path) });
  }

  function tell(path: string, part: number): void {
    const file = files.get(path) ?? { part, patience: setTimeout(show, PATIENCE_MS, path) };
    files.set(path, file);
    file.part = part;
    file.bar?.update(Math.floor(part * 100));
    if (part < 1) return;
    clearTimeout(file.patience);
    if (file.bar) bars!.remove(file.bar);
    files.delete(path);
  }

  return { tell, end: () => bars?.stop() };
}
