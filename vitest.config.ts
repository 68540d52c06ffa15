import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: 'test/support/templates.ts',
    pool: 'forks',
    // Every file has ports and folders of its own; by itself vitest would leave one of two cores alone.
    maxWorkers: 2,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // Tools of GDAL that tests call would write statistics beside the data.
    env: { GDAL_PAM_ENABLED: 'NO' },
  },
});
