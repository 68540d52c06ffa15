/** Exit codes (sysexits.h): invalid arguments, and a failed command. */
const EXIT_USAGE = 64;
export const EXIT_FAILED = 1;

/** Ends a command with an error message for the user. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  constructor(
    message: string,
    readonly exitCode = EXIT_USAGE,
  ) {
    super(message);
  }
}
