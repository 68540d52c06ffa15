import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: 'test/support/run.ts',
    pool: 'forks',
    // Every file has ports and folders of its own. Most wait for servers and browsers half of the time.
    maxWorkers: 3,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // Tools of GDAL that tests call would write statistics beside the data.
    env: { GDAL_PAM_ENABLED: 'NO' },
  },
});
