/**
 * The official conformance suite against the gateway in front of our fixture, which speaks both eras. Nothing is expected to
 * fail but what an older server has no words for.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { startGateway, shapes } from '../support/gateway.ts';
import { RawClient } from '../support/raw-client.ts';
import { fixturePath, root, startFixture, startProcess } from '../support/processes.ts';
import { runSuite, suitePath } from './run-suite.ts';

/** Run without being counted; the fixture has the extension where it speaks the newest revision. */
const taskScenarios = [
  'lifecycle', 'capability-negotiation', 'wire-fields', 'request-state-removal', 'mrtr-input', 'request-headers', 'dispatch-and-envelope', 'required-task-error', 'mrtr-composition',
].map((name) => `tasks-${name}`);

/** How the gateway speaks to the fixture, whatever the suite speaks to the gateway. */
const legs = ['legacy', 'modern'] as const;

describe.each(shapes)('through the gateway, %s,', (shape) => {
  async function inFront(era: (typeof legs)[number], test: (url: string) => Promise<void>): Promise<void> {
    await using fixture = startFixture('conformance-server');
    const [, upstream] = (await fixture.line(/^listening (.+)$/)) as unknown as [string, string];
    await using gateway = await startGateway(shape, { mcpServers: { fixture: { url: upstream, era } } });
    await test(gateway.url);
  }

  /** @param mustPass scenarios that the suite runs without counting them. */
  async function passes(url: string, args: readonly string[], atLeast: number, mustPass: readonly string[]): Promise<void> {
    const { status, output, scenarios } = await runSuite('conformance-next', url, args);
    expect(status, output).toBe(0);
    expect(scenarios.size).toBeGreaterThanOrEqual(atLeast);
    for (const scenario of mustPass) expect(scenarios.get(scenario)?.filter((check) => check.status === 'FAILURE'), scenario).toEqual([]);
  }

  describe.each(legs)('to a %s server,', (era) => {
    it('conformance 0.1.16 `server --suite all` passes', { timeout: 180_000 }, () => inFront(era, async (url) => {
      const { status, output, scenarios } = await runSuite('@modelcontextprotocol/conformance', url, ['--suite', 'all']);
      expect(status, output).toBe(0);
      expect(scenarios.size).toBeGreaterThanOrEqual(30);
    }));

    it('conformance 0.2.0-alpha.12 `server --requirements 2025-11-25` passes, session lifecycle included', { timeout: 180_000 }, () => inFront(era, (url) =>
      passes(url, ['--requirements', '2025-11-25'], 33, ['server-session-lifecycle', 'json-schema-2020-12', 'server-sse-polling'])));

    it('conformance 0.2.0-alpha.12 `server --requirements 2026-07-28` passes, header validation included', { timeout: 180_000 }, () => inFront(era, (url) =>
      passes(url, [
        '--requirements', '2026-07-28', ...(era === 'legacy' ? ['--expected-failures', join(root, 'test/conformance/impossible-over-a-legacy-server.yaml')] : []),
      ], 50, ['http-header-validation', 'http-custom-header-server-validation', 'json-schema-2020-12', ...(era === 'modern' ? taskScenarios : [])])));
  });

  it('a stream that the server closes before it answers is resumed without the client noticing', () => inFront('legacy', async (url) => {
    using client = await RawClient.open(url);
    await client.untilTools((names) => names.includes('test_reconnection'));
    expect((await client.callTool('test_reconnection')).last.result).toEqual({ content: [{ type: 'text', text: 'Reconnection test completed' }] });
  }));
});

/** Scenarios in which the suite is the server, and the gateway its client. */
const clientScenarios: readonly [scenario: string, revision: string][] = [
  ...['initialize', 'tools_call', 'elicitation-sep1034-client-defaults', 'sse-retry', 'json-schema-2020-12-preservation'].map((scenario): [string, string] => [scenario, '2025-11-25']),
  ...[
    'tools_call', 'request-metadata', 'http-standard-headers', 'http-custom-headers', 'http-invalid-tool-headers', 'sep-2322-client-request-state', 'json-schema-ref-no-deref',
    'json-schema-2020-12-preservation',
  ].map((scenario): [string, string] => [scenario, '2026-07-28']),
];

it.each(clientScenarios)('as a client, the gateway passes %s at %s', async (scenario, revision) => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-conformance-'));
  await using run = startProcess('node', [suitePath('conformance-next'), 'client', '--command', `node ${fixturePath('drive')}`, '--scenario', scenario, '--spec-version', revision, '-o', folder]);
  const status = await new Promise((resolve) => {
    run.child.once('close', resolve);
  });
  await rm(folder, { recursive: true });
  expect(status, run.output()).toBe(0);
});
