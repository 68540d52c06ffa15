/** Exit codes (sysexits.h): what was typed is wrong; what was asked for could not be done. */
const EXIT_USAGE = 64;
export const EXIT_FAILED = 1;

/** Ends a command with one sentence for who typed it. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  constructor(
    message: string,
    readonly exitCode = EXIT_USAGE,
  ) {
    super(message);
  }
}
