import { readFileSync } from 'node:fs';
import { verifyLicence } from '../../services/licensing/licence-file.js';
import { readLicenceKeys } from '../../services/licensing/licence-keys.js';
import { CommandError, EXIT_FAILED } from '../command-error.js';

/** `graticule licence verify FILE --keys JWKS`: verifies a licence file without a server. */
export async function verifyLicenceFile(file: string, { keys }: { keys: string }): Promise<void> {
  const jwks = await readLicenceKeys(keys).catch((error: Error) => {
    throw new CommandError(`--keys: ${error.message}.`);
  });
  const { state, licence, problem } = await verifyLicence(readLicence(file), jwks, Date.now());
  if (!licence || problem !== undefined)
    throw new CommandError(`${file}: ${state}: ${problem}.`, EXIT_FAILED);
  const { licenseId, licensedTo, edition, expiresAt, entitlements, terms } = licence;
  process.stdout.write(
    [
      `${state}: ${licenseId} of ${licensedTo}, edition ${edition}, until ${expiresAt}`,
      `entitlements: ${entitlements.join(', ') || 'none'}`,
      ...(terms ? [`serving units: ${terms.maxSustainedServingUnits}`] : []),
      '',
    ].join('\n'),
  );
}

function readLicence(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new CommandError(`${file}: cannot be read (${(error as Error).message}).`);
  }
}
