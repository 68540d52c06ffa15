import { vi } from 'vitest';

/**
 * `vi.waitFor` gives up after one second unless told otherwise. A second says how busy the machine is, and must not decide
 * a test: here the default is a minute.
 */
const MAX_MS = 60_000;

const { waitFor } = vi;
vi.waitFor = (check, options = MAX_MS) => waitFor(check, options);
