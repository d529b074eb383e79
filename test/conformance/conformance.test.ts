/**
 * The official conformance suite against the gateway in front of our fixture, which speaks both eras. Only checks that an older server cannot fulfil are
 * expected to fail.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shapesOfLane, startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { isLongLane } from '../support/lane.ts';
import { RawClient } from '../support/raw-client.ts';
import { root, startFixture } from '../support/processes.ts';
import { driveClient } from './drive-client.ts';
import { Driver } from './driver.ts';
import { judgeClient, runSuite } from './run-suite.ts';

/** Scenarios that the suite runs without counting them; the fixture supports tasks in the newest revision. */
const taskScenarios = [
  'lifecycle',
  'capability-negotiation',
  'wire-fields',
  'request-state-removal',
  'mrtr-input',
  'request-headers',
  'dispatch-and-envelope',
  'required-task-error',
  'mrtr-composition',
].map((name) => `tasks-${name}`);

/** The era in which the gateway connects to the fixture, independent of the suite's revision. */
const legs = ['legacy', 'modern'] as const;

/** The runs of the suites. */
const runs = ['0.1.16', '2025-11-25', '2026-07-28', 'resumed'] as const;

/**
 * The servers in front of which each runs. In the gate, the older suite runs in front of a legacy server alone, since most of it is in the newer one, which
 * runs in front of a modern one.
 */
const legsOf: Readonly<Record<(typeof runs)[number], readonly (typeof legs)[number][]>> = {
  '0.1.16': isLongLane ? legs : ['legacy'],
  '2025-11-25': isLongLane ? legs : ['modern'],
  '2026-07-28': legs,
  resumed: ['legacy'],
};

/** The suites mostly wait, so they run in parallel through one gateway, each with its own fixture. */
describe.each(shapesOfLane)('through the gateway, %s,', { concurrent: true, timeout: 180_000 }, (shape) => {
  const stack = new AsyncDisposableStack();
  let gateway: GatewayUnderTest;

  beforeAll(async () => {
    const servers = await Promise.all(
      runs.flatMap((run) =>
        legsOf[run].map(async (era) => {
          const [, url] = (await stack.use(startFixture('conformance-server')).line(/^listening (.+)$/)) as unknown as [
            string,
            string,
          ];
          return [nameOf(era, run), { url, era }] as const;
        }),
      ),
    );
    gateway = stack.use(await startGateway(shape, { mcpServers: Object.fromEntries(servers) }));
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) =>
      servers.every(([server]) => names.some((name) => name.startsWith(`${server}__`))),
    );
  });
  afterAll(() => stack.disposeAsync());

  const nameOf = (era: (typeof legs)[number], run: (typeof runs)[number]): string =>
    `${era}-${run.replaceAll('.', '-')}`;
  const inFront = (era: (typeof legs)[number], run: (typeof runs)[number]): string =>
    `${gateway.url}/${nameOf(era, run)}`;

  /** @param mustPass scenarios that the suite runs without counting them. */
  async function passes(
    url: string,
    args: readonly string[],
    atLeast: number,
    mustPass: readonly string[],
  ): Promise<void> {
    const { status, output, scenarios } = await runSuite('conformance-next', url, args);
    expect(status, output).toBe(0);
    expect(scenarios.size).toBeGreaterThanOrEqual(atLeast);
    for (const scenario of mustPass)
      expect(
        scenarios.get(scenario)?.filter((check) => check.status === 'FAILURE'),
        scenario,
      ).toEqual([]);
  }

  it.each(legsOf['0.1.16'])('to a %s server, conformance 0.1.16 `server --suite all` passes', async (era) => {
    const { status, output, scenarios } = await runSuite('@modelcontextprotocol/conformance', inFront(era, '0.1.16'), [
      '--suite',
      'all',
    ]);
    expect(status, output).toBe(0);
    expect(scenarios.size).toBeGreaterThanOrEqual(30);
  });

  it.each(legsOf['2025-11-25'])(
    'to a %s server, conformance 0.2.0-alpha.12 `server --requirements 2025-11-25` passes, session lifecycle included',
    (era) =>
      passes(inFront(era, '2025-11-25'), ['--requirements', '2025-11-25'], 33, [
        'server-session-lifecycle',
        'json-schema-2020-12',
        'server-sse-polling',
      ]),
  );

  it.each(legsOf['2026-07-28'])(
    'to a %s server, conformance 0.2.0-alpha.12 `server --requirements 2026-07-28` passes, header validation included',
    (era) =>
      passes(
        inFront(era, '2026-07-28'),
        [
          '--requirements',
          '2026-07-28',
          ...(era === 'legacy'
            ? ['--expected-failures', join(root, 'test/conformance/impossible-over-a-legacy-server.yaml')]
            : []),
        ],
        50,
        [
          'http-header-validation',
          'http-custom-header-server-validation',
          'json-schema-2020-12',
          ...(era === 'modern' ? taskScenarios : []),
        ],
      ),
  );

  it('a stream that the server closes before it answers is resumed without the client noticing', async () => {
    using client = await RawClient.open(inFront('legacy', 'resumed'));
    expect((await client.callTool('test_reconnection')).last.result).toEqual({
      content: [{ type: 'text', text: 'Reconnection test completed' }],
    });
  });
});

/** Scenarios that the gate leaves to the long lane: the suites for servers judge the same through the gateway, and each of these starts two programs. */
const inLong = (...scenarios: readonly string[]): readonly string[] => (isLongLane ? scenarios : []);
const preservation = 'json-schema-2020-12-preservation';

/** Scenarios in which the suite is the server, and the gateway its client. */
const clientScenarios: readonly [scenario: string, revision: string][] = [
  ...['elicitation-sep1034-client-defaults', 'sse-retry', ...inLong('initialize', 'tools_call', preservation)].map(
    (scenario): [string, string] => [scenario, '2025-11-25'],
  ),
  ...[
    'request-metadata',
    'http-standard-headers',
    'http-custom-headers',
    'http-invalid-tool-headers',
    'sep-2322-client-request-state',
    'json-schema-ref-no-deref',
    ...inLong('tools_call', preservation),
  ].map((scenario): [string, string] => [scenario, '2026-07-28']),
];

let driver: Driver;
beforeAll(async () => {
  driver = await Driver.start(driveClient);
});
afterAll(() => driver[Symbol.asyncDispose]());

async function asClient(scenario: string, revision: string): Promise<void> {
  const args = ['--spec-version', revision];
  const { status, output } = await judgeClient('conformance-next', { scenario, command: driver.command, args });
  expect(status, output).toBe(0);
}

it.concurrent.each(clientScenarios)('as a client, the gateway passes %s at %s', { timeout: 180_000 }, asClient);
