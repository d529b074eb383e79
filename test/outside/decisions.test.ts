/** An external decision point (`access.decisions`) in the running gateway: callers of both eras, decided by their groups, and while it is away. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '@omnibus/protocol';
import { shapesOfLane } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { Keys } from '../support/keys.ts';
import { ModernClient } from '../support/modern-client.ts';
import { RawClient } from '../support/raw-client.ts';
import { tool, Upstream } from '../support/upstream.ts';

interface Question {
  readonly subject: { readonly properties?: { readonly groups?: readonly string[] } };
  readonly resource: { readonly id: string };
}

describe.each(shapesOfLane)('%s', (shape) => {
  let keys: Keys;
  let bank: Upstream;
  let point: Server;
  let gateway: GatewayHere;
  let isAway = false;

  const isPermitted = ({ subject, resource }: Question): boolean =>
    resource.id === 'bank/look' || subject.properties?.groups?.includes('finance') === true;

  beforeAll(async () => {
    keys = await Keys.makeOf({ ann: ['support'], fin: ['finance'] });
    bank = await Upstream.start({ tools: ['look', 'pay'].map(tool) });
    point = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
      request.on('end', () => {
        if (isAway) {
          response.destroy();
          return;
        }
        const body = JSON.parse(text) as Question & { readonly evaluations?: readonly Question[] };
        const answer = (question: object): JsonObject => ({ decision: isPermitted({ ...body, ...question }) });
        response.setHeader('content-type', 'application/json');
        response.end(
          JSON.stringify(
            body.evaluations === undefined ? answer({}) : { evaluations: body.evaluations.map((each) => answer(each)) },
          ),
        );
      });
    });
    await new Promise<void>((resolve) => {
      point.listen(0, '127.0.0.1', resolve);
    });
    gateway = await startGatewayHere(shape, {
      auth: keys.auth,
      mcpServers: { bank: { url: bank.url } },
      access: {
        default: 'allow',
        decisions: { url: `http://127.0.0.1:${(point.address() as AddressInfo).port}`, timeout: '20s', cache: '1s' },
      },
    });
    using client = await RawClient.open(gateway.url, undefined, keys.headersOf('fin'));
    await client.untilTools((names) => names.length === 2);
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    point.closeAllConnections();
    point.close();
    await Promise.all([bank, keys].map((each) => each[Symbol.asyncDispose]()));
  });

  it('shows each caller its tools and makes its calls, in both eras, and nothing while the decision point is away', async () => {
    using older = await RawClient.open(gateway.url, undefined, keys.headersOf('ann'));
    await older.untilTools((names) => names.length === 1 && names[0] === 'look');
    expect((await older.callTool('pay', {})).last.error?.data?.['reason']).toBe('tool.unknown');
    expect((await older.callTool('look', {})).last.result).toBeDefined();
    using newer = new ModernClient(gateway.url, {}, keys.headersOf('fin'));
    expect((await newer.call('pay', {})).last.result).toBeDefined();
    using other = new ModernClient(gateway.url, {}, keys.headersOf('ann'));
    expect((await other.call('pay', {})).last.error?.data?.['reason']).toBe('tool.unknown');
    const before = bank.requests.filter(({ method }) => method === 'tools/call').length;
    isAway = true;
    const refused = ['tool.unknown', 'policy.undecided'];
    expect(refused).toContain((await newer.call('pay', {})).last.error?.data?.['reason']);
    expect(refused).toContain((await older.callTool('look', {})).last.error?.data?.['reason']);
    await expect.poll(() => older.toolNames()).toEqual([]);
    expect(bank.requests.filter(({ method }) => method === 'tools/call')).toHaveLength(before);
    isAway = false;
    await expect.poll(() => older.toolNames()).toEqual(['look']);
  });
});
