import { defineConfig } from 'vitest/config';

/** `npm run check` runs the `unit` project; `npm test` runs all of them. */
export default defineConfig({
  resolve: { conditions: ['omnibus-source'] },
  ssr: { resolve: { conditions: ['omnibus-source'], externalConditions: ['omnibus-source'] } },
  test: {
    projects: [
      { extends: true, test: { name: 'unit', include: ['{packages,services}/**/src/**/*.test.ts'], testTimeout: 30_000 } },
      {
        extends: true,
        test: { name: 'system', include: ['test/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 120_000, fileParallelism: false },
      },
    ],
  },
});
