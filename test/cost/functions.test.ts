/** How much of the gateway one call runs through: a reader who follows a call reads these files. The bounds are those of `docs/explanation/speed.md`. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startUpstream, type Measured } from '../bench/subjects.ts';
import type { GatewayUnderTest } from '../support/gateway.ts';
import { ModernClient } from '../support/modern-client.ts';
import { RawClient } from '../support/raw-client.ts';
import { countedOf, startCounting, type Counted } from './counted.ts';

/** Calls before the first one that counts: parts that are made once exist then. */
const callsBefore = 3;
/** Timers run beside calls, on a slow machine beside most of them: more calls are made while there seem to be too many functions. */
const countedCalls = { least: 10, most: 100 };

const filesOf = (functions: readonly Counted[]): number => new Set(functions.map(({ file }) => file)).size;

/** The functions that run in every call. @param isEnough whether no further call is made. */
async function functionsOf(
  gateway: GatewayUnderTest,
  call: () => Promise<unknown>,
  isEnough: (functions: readonly Counted[]) => boolean,
): Promise<readonly Counted[]> {
  for (let before = 0; before < callsBefore; before += 1) await call();
  await countedOf(gateway.edge);
  let always: readonly Counted[] | undefined;
  for (let counted = 0; counted < countedCalls.most; counted += 1) {
    if (always !== undefined && counted >= countedCalls.least && isEnough(always)) break;
    await call();
    const now = await countedOf(gateway.edge);
    const ran = new Set(now.map(({ file, name }) => `${file} ${name}`));
    always = always?.filter(({ file, name }) => ran.has(`${file} ${name}`)) ?? now;
  }
  return always ?? [];
}

/** The files by package and service, each with its functions, for a developer whose change adds some. */
function listOf(functions: readonly Counted[]): string {
  const rooms = Map.groupBy(functions, ({ file }) => file.split('/dist/', 1)[0]);
  return [...rooms]
    .map(([room, ran]) => {
      const files = [...Map.groupBy(ran, ({ file }) => file.slice(file.indexOf('/dist/') + 6))];
      const lines = files.map(([file, each]) => `  ${file}: ${each.map(({ name }) => name).join(', ')}`);
      return `${room}: ${files.length} files, ${ran.length} functions\n${lines.join('\n')}`;
    })
    .join('\n');
}

const off = {};
const on = (folder: string): object => ({
  access: { default: 'deny', rules: [{ id: 'all', who: 'everyone', allow: ['up'] }] },
  audit: { sinks: [{ kind: 'file', folder }] },
  limits: { rules: [{ rate: '1000000/s', concurrency: 1_000 }] },
  guardrails: [{ id: 'no-keys', patterns: 'key', on: 'requests', action: 'deny' }],
});

describe.each([
  { what: 'a plain call', config: () => off, bounds: { '2025-11-25': [80, 240], '2026-07-28': [80, 250] } },
  {
    what: 'a call with rules, audit, limits and a guardrail',
    config: on,
    bounds: { '2025-11-25': [110, 316], '2026-07-28': [110, 325] },
  },
] as const)('$what', ({ config, bounds }) => {
  let upstream: Measured;
  let gateway: GatewayUnderTest;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'omnibus-cost-'));
    upstream = await startUpstream(1);
    gateway = await startCounting({ mcpServers: { up: { url: `${upstream.url}/0` } }, ...config(folder) });
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  it.each([
    ['2025-11-25', ...bounds['2025-11-25']],
    ['2026-07-28', ...bounds['2026-07-28']],
  ] as const)(
    'of a client of %s runs through at most %i files and %i functions',
    async (revision, files, functions) => {
      using legacy = await RawClient.open(gateway.url);
      await legacy.untilTools((names) => names.includes('tool-0'));
      using modern = new ModernClient(gateway.url, {});
      const args = { text: 'hello' };
      const call =
        revision === '2025-11-25'
          ? () => legacy.callTool('tool-0', args)
          : () => modern.call('tool-0', { arguments: args });
      expect((await call()).last.result).toMatchObject({ content: [{ type: 'text', text: 'hello' }] });
      const ran = await functionsOf(gateway, call, (some) => filesOf(some) <= files && some.length <= functions);
      const count = { files: filesOf(ran), functions: ran.length };
      process.stdout.write(
        `\n${revision}: ${count.files} of ${files} files, ${count.functions} of ${functions} functions\n`,
      );
      expect(count.files, listOf(ran)).toBeGreaterThan(20);
      expect(count.files, listOf(ran)).toBeLessThanOrEqual(files);
      expect(count.functions, listOf(ran)).toBeLessThanOrEqual(functions);
    },
  );
});
