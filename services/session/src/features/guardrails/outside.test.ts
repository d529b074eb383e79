import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Heard } from '@omnibus/bus/testing';
import { DeadlineWheel } from '@omnibus/lifecycle';
import type { OutsideCheck } from '@omnibus/policy';
import { anonymous } from '@omnibus/protocol';
import { Metrics } from '@omnibus/telemetry';
import { expect, it } from 'vitest';
import type { Verdict } from './message.ts';
import { OutsideChecks } from './outside.ts';

it('a guardrail that the configuration has no more is forgotten with its metrics, at once or when its last check has ended, and others are not', async () => {
  const asked = new Heard<ServerResponse>();
  const server = createServer((request, response) => {
    request.resume();
    asked.add(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const metrics = new Metrics({ processMetrics: false });
  const checks = new OutsideChecks({
    wheel: new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) }),
    metrics,
    tools: () => undefined,
  });
  const check: OutsideCheck = {
    kind: 'outside',
    asked: {
      kind: 'webhook',
      webhook: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, headers: {} },
    },
    config: undefined,
    timeoutMs: 10_000,
    concurrency: 1,
    isOpen: false,
  };
  const heard = new Heard<Verdict>();
  const ask = async (id: string): Promise<ServerResponse> => {
    const before = asked.values.length;
    checks.ask(
      {
        id,
        check,
        message: { stage: 'requests', event: 'tools/call', phase: 'request' },
        payload: {},
        caller: {
          principal: anonymous,
          owner: 'ann',
          isKnown: false,
          about: { kind: 'tool', server: 'crm' as never, name: 'tell' },
        },
      },
      (verdict) => heard.add(verdict),
    );
    return (await asked.until(before + 1))[before] as ServerResponse;
  };
  const answer = async (response: ServerResponse): Promise<void> => {
    const before = heard.values.length;
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { valid: true } }));
    await heard.until(before + 1);
  };
  const shown = async (): Promise<readonly string[]> => {
    const text = await metrics.text();
    return ['one', 'two'].filter((id) => text.includes(`guardrail="${id}"`));
  };
  checks.keep(new Set(['one', 'two']));
  await answer(await ask('one'));
  const running = await ask('two');
  expect(await shown()).toEqual(['one', 'two']);
  checks.keep(new Set());
  expect(await shown()).toEqual(['two']);
  await answer(running);
  expect(await shown()).toEqual([]);
  // A call that began under the old configuration.
  await answer(await ask('one'));
  expect(await shown()).toEqual([]);
  checks.keep(new Set(['two']));
  await answer(await ask('two'));
  expect(await shown()).toEqual(['two']);
  checks.stop();
  server.close();
});
