import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** What looks at memory, at how long somebody waits, or fills the machine: one file at a time, after the others. */
const alone = ['test/chaos/**/*.test.ts', 'test/fuzz/**/*.test.ts', 'test/upgrade/upgrade.test.ts', 'test/e2e/backpressure.test.ts', 'test/outside/edge-bounds.test.ts', 'test/outside/sessions-memory.test.ts'];
/** Most of the time of a system test goes by while processes start and time limits pass, so several files are run at once. */
const system = { testTimeout: 60_000, hookTimeout: 120_000 };

/** `npm run check` runs the `unit` project; `npm test` runs all of them. */
export default defineConfig({
  resolve: { conditions: ['omnibus-source'] },
  ssr: { resolve: { conditions: ['omnibus-source'], externalConditions: ['omnibus-source'] } },
  test: {
    // Hundreds of processes load the same modules: Node compiles each once, which is a third of what a start costs.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/node') },
    // How long something may take that comes about by itself: a loaded machine takes longer, and a second was now and then too short.
    expect: { poll: { timeout: 15_000 } },
    projects: [
      { extends: true, test: { name: 'unit', include: ['{packages,services}/**/src/**/*.test.ts'], testTimeout: 30_000 } },
      { extends: true, test: { ...system, name: 'system', include: ['test/**/*.test.ts'], exclude: alone, maxWorkers: 3, sequence: { groupOrder: 1 } } },
      { extends: true, test: { ...system, name: 'alone', include: alone, fileParallelism: false, sequence: { groupOrder: 2 } } },
    ],
  },
});
