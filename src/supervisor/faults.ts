/**
 * Handlers of uncaught errors. Errors are logged with their stacks. Only exceptions outside of promises end the
 * process.
 */

export interface FaultHandlers {
  /** Handles a rejected promise that no code awaits. The process continues. */
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
