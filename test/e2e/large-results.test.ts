/**
 * A large result passes as the bytes in which it came, unless code looks inside; a small one is written from its values. Clients must not see which. Each row below is
 * a reason to look inside, or harmless content. The same result comes with a short and with a long text, for every row and each pair of rows.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseJson } from '@omnibus/protocol';
import { shapes } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { isLongLane } from '../support/lane.ts';
import { ModernClient } from '../support/modern-client.ts';
import { fixturePath, startFixture } from '../support/processes.ts';
import { RawClient, type Message } from '../support/raw-client.ts';

const short = 'é"\\\n';
/** Longer than the smallest message that passes as bytes. */
const long = short.repeat(20_000);

/** Blocks and members of a result, as JSON. */
interface Row {
  readonly block?: string;
  readonly member?: string;
}

const rows: Readonly<Record<string, Row>> = {
  plain: {},
  error: { member: '"isError":true' },
  metadata: { member: '"_meta":{"a":{"b":[1,2]}}' },
  link: { block: '{"type":"resource_link","uri":"file:///a","name":"a"}' },
  resource: { block: '{"type":"resource","resource":{"uri":"file:///b","text":"b"}}' },
  image: { block: '{"type":"image","data":"AA==","mimeType":"image/png","annotations":{"priority":0.5}}' },
  audio: { block: '{"type":"audio","data":"AA==","mimeType":"audio/wav"}' },
  null: { block: '{"type":"text","text":"n","annotations":null}' },
  'bad block': { block: '{"type":"text"}' },
  structured: { member: '"structuredContent":{"a":[{"b":null}],"n":9007199254740993}' },
  number: { member: '"x":1.0' },
  complete: { member: '"resultType":"complete"' },
  unknown: { member: '"newer":{"a":1}' },
  scope: { member: '"cacheScope":"public","ttlMs":5' },
  'equal members': { member: '"y":1,"y":2' },
  'equal members of a block': { block: '{"type":"text","text":"first","text":"second"}' },
  'name with an escape': { member: '"is\\u0045rror":true' },
};
const names = Object.keys(rows);
const alone = names.map((name) => [name, name] as const);
const pairs = names.flatMap((one, index) => names.slice(index).map((other) => [one, other] as const));

/** A result with two rows and a text, as its server writes it. */
function resultOf(one: string, other: string, text: string): string {
  const chosen = [...new Set([one, other])].map((name) => rows[name] as Row);
  const blocks = chosen.flatMap(({ block }) => (block === undefined ? [] : [block]));
  const members = chosen.flatMap(({ member }) => (member === undefined ? [] : [`,${member}`]));
  return `{"content":[${[`{"type":"text","text":${JSON.stringify(text)}}`, ...blocks].join(',')}]${members.join('')}}`;
}

const servers = ['old-json', 'new-json', 'old-http', 'old-stdio'] as const;
const clients = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28', 'batch'] as const;
const ways = servers.flatMap((server) => clients.map((client) => [client, server] as const));

/** Rows with a meaning of their own in one of the eras. */
const byEra: readonly string[] = ['complete', 'scope', 'structured'];
/** In the gate, each row alone and each pair with one of these comes to clients of both eras, and each other pair to a client of one. */
const pairsOf = (client: string): typeof pairs =>
  isLongLane
    ? pairs
    : pairs.filter(
        ([one, other], index) =>
          one === other ||
          [one, other].some((name) => byEra.includes(name)) ||
          (index % 2 === 0) === (client === '2025-11-25'),
      );

/** In one process the bytes pass the edge, too. */
const chosen = isLongLane ? shapes : (['embedded'] as const);

describe.each(chosen)('a large result, %s', (shape) => {
  const stack = new AsyncDisposableStack();
  let gateway: GatewayHere;

  beforeAll(async () => {
    const addressOf = async (era: string, wire: string): Promise<string> =>
      (await stack.use(startFixture('text-server', [era, wire])).line(/^listening (\S+)$/))[1] as string;
    gateway = stack.use(
      await startGatewayHere(shape, {
        mcpServers: {
          'old-json': { url: await addressOf('old', 'json') },
          'new-json': { url: await addressOf('new', 'json') },
          'old-http': { url: await addressOf('old', 'http') },
          'old-stdio': { command: 'node', args: [fixturePath('text-server'), 'old'] },
        },
      }),
    );
    using waiting = await RawClient.open(gateway.url);
    await waiting.untilTools((tools) => tools.length === 3 * servers.length);
  });

  afterAll(() => stack.disposeAsync());

  it.each(ways)('for a client of %s of the server %s is the same as a small one', async (client, server) => {
    const revision = client === 'batch' ? '2025-03-26' : client;
    using modern = new ModernClient(gateway.url, {});
    using raw = revision === '2026-07-28' ? undefined : await RawClient.open(gateway.url, revision);
    const bodyOf = async (params: { readonly name: string; readonly arguments: object }): Promise<string> => {
      if (raw === undefined) return (await modern.call(params.name, { arguments: params.arguments })).body;
      const request = { jsonrpc: '2.0', id: 'one', method: 'tools/call', params };
      return (await raw.post(client === 'batch' ? [request] : request)).body;
    };
    /** The answer, with every number as it was written, and with a short text. */
    const answerWith = async (one: string, other: string, text: string): Promise<string> => {
      const last = `"result":${resultOf(one, other, text)}`;
      const body = await bodyOf({ name: `${server}__say`, arguments: { last } });
      const json = body.startsWith('{') || body.startsWith('[') ? body : (/^data: (\{.*)$/m.exec(body)?.[1] as string);
      const value = parseJson(json) as Message | readonly Message[];
      const { error, result } = (Array.isArray(value) ? value[0] : value) as Message;
      return JSON.stringify({ error, result }).replace(JSON.stringify(text), JSON.stringify(short));
    };
    const all = server === 'old-json' && (client === '2025-11-25' || client === '2026-07-28') ? pairsOf(client) : alone;
    for (const [one, other] of all)
      expect(await answerWith(one, other, long), `${one}, ${other}`).toBe(await answerWith(one, other, short));
  });
});
