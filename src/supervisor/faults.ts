/** What nobody caught: it is told with its stack, and ends the process only where its state may be broken. */

export interface FaultHandlers {
  /** A promise that failed and that nobody waits for. The process goes on. */
  onRejection(error: Error): void;
  /** An exception outside of any promise. The handler ends the process. */
  onException(error: Error): void;
}

export function watchFaults({ onRejection, onException }: FaultHandlers): void {
  process.on('unhandledRejection', (reason) => onRejection(asError(reason)));
  process.on('uncaughtException', onException);
}

/** Throws an error outside of its promise, as an exception that ends the process. */
export function throwOutside(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}

function asError(reason: unknown): Error {
  return reason instanceof Error
    ? reason
    : new Error(`Something that is no error was thrown: ${String(reason)}`);
}
