/** Calls that wait until their user has signed in (`beforeSignIn: wait`), at any process. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Heard } from '@omnibus/bus/testing';
import type { JsonObject } from '@omnibus/protocol';
import { Balancer } from '../support/balancer.ts';
import { signInAt } from '../support/browse.ts';
import { shapesOfLane, type Shape } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { Keys } from '../support/keys.ts';
import { ModernClient, required } from '../support/modern-client.ts';
import { PersonalServer } from '../support/personal-server.ts';
import { RawClient, type Message } from '../support/raw-client.ts';

const addressIn = (said: unknown): string =>
  /http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{22}/.exec(JSON.stringify(said))?.[0] ?? '';
const codeIn = (page: { readonly text: string }): string => /Your code: ([A-Z0-9-]{9})/.exec(page.text)?.[1] ?? '';
const textOf = ({ result, error }: Message): string =>
  (result?.['content'] as readonly { readonly text: string }[] | undefined)?.[0]?.text ?? JSON.stringify(error);

/** Calls a tool, with the messages before its answer as they come. */
function calling(
  client: RawClient,
  id: string,
  name: string,
  mark: string,
): {
  readonly first: () => Promise<Message>;
  readonly some: Heard<Message>['untilSome'];
  readonly answer: () => Promise<string>;
  readonly done: Promise<unknown>;
} {
  const heard = new Heard<Message>();
  const done = client.stream(
    {
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name, arguments: name === 'connect' ? {} : { mark }, _meta: { progressToken: id } },
    },
    async (message) => heard.add(message),
  );
  done.catch(() => undefined); // The test is over.
  const some = (fits: (message: Message) => boolean): Promise<Message> => heard.untilSome(fits);
  return {
    done,
    some,
    first: () => some(() => true),
    answer: async () => textOf(await some((message) => message.id === id)),
  };
}

async function open(
  shape: Shape,
  stack: AsyncDisposableStack,
  auth: { readonly keys?: Keys },
): Promise<{ readonly server: PersonalServer; readonly gateway: GatewayHere }> {
  const server = stack.use(await PersonalServer.start());
  const front = stack.use(await Balancer.start());
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-waits-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const gateway = stack.use(
    await startGatewayHere(shape, {
      publicUrl: front.url,
      ...(auth.keys === undefined ? {} : { auth: auth.keys.auth }),
      vault: { file: join(folder, 'vault.json'), keys: [`a:${Buffer.alloc(32, 7).toString('base64')}`] },
      mcpServers: {
        personal: {
          url: server.url,
          restart: { minDelay: '50ms', maxDelay: '200ms' },
          credentials: { kind: 'oauth', beforeSignIn: 'wait' },
        },
      },
    }),
  );
  front.edges = [gateway.url];
  // The browser comes to either backend worker, whichever the call waits at.
  if (shape === 'nats') await (await gateway.startPart('backend')).line(/"msg":"ready"/);
  return { server, gateway };
}

describe.each(shapesOfLane)('%s,', (shape) => {
  it('a call goes on after the sign-in whose address its progress names; one that wants no progress ends with the address, and one that is cancelled is never made', async () => {
    await using stack = new AsyncDisposableStack();
    const { server, gateway } = await open(shape, stack, {});
    const client = stack.use(await RawClient.open(gateway.url));
    await client.untilTools((names) => names.includes('connect'));
    expect(addressIn((await client.callTool('connect')).last)).not.toBe('');
    const connect = calling(client, 'c1', 'connect', '');
    const said = await connect.first();
    expect(said.method).toBe('notifications/progress');
    await signInAt(addressIn(said), server.signsInAs('ann'));
    expect(await connect.answer()).toBe('You are signed in to "personal".');
    await client.untilTools((names) => names.includes('whose'));
    server.revoke('ann');
    const [made, cancelled] = [calling(client, 'c2', 'whose', 'made'), calling(client, 'c3', 'whose', 'cancelled')];
    const [address] = [addressIn(await made.first()), await cancelled.first()];
    await client.post({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 'c3', reason: 'not any more' },
    });
    await cancelled.done;
    await signInAt(address, server.signsInAs('ann'));
    expect(await made.answer()).toBe('ann made');
    expect([...server.executed]).toEqual([['made', 1]]);
  });

  it('a client of a known user is asked to open the address and for the code that the page shows, and gets the answer of its call', async () => {
    await using stack = new AsyncDisposableStack();
    const keys = stack.use(await Keys.make('ann', 'ben'));
    const { server, gateway } = await open(shape, stack, { keys });
    const asked = async (user: string): Promise<RawClient> => {
      const client = stack.use(
        await RawClient.open(gateway.url, '2025-11-25', keys.headersOf(user), { elicitation: { form: {}, url: {} } }),
      );
      await client.untilTools((names) => names.includes('connect'));
      return client;
    };
    const [ann, ben] = [await asked('ann'), await asked('ben')];
    const respond = (client: RawClient, { id }: Message, result: JsonObject): Promise<unknown> =>
      client.post({ jsonrpc: '2.0', id: id as string, result });
    const [ofAnn, ofBen] = [calling(ann, 'a', 'connect', ''), calling(ben, 'b', 'connect', '')];
    const [toOpen, bens] = await Promise.all(
      [ofAnn, ofBen].map((call) => call.some(({ params }) => params?.['mode'] === 'url')),
    );
    await respond(ann, toOpen as Message, { action: 'accept' });
    const page = await signInAt(addressIn(toOpen), server.signsInAs('ann'));
    const form = await ofAnn.some(({ params }) => params?.['mode'] === 'form');
    await respond(ann, form, { action: 'accept', content: { code: codeIn(page) } });
    expect(await ofAnn.answer()).toBe('You are signed in to "personal".');
    // A client without a session brings the answers in requests of their own, the last of which gets the answer of the call.
    const modern = stack.use(
      new ModernClient(gateway.url, { elicitation: { form: {}, url: {} } }, keys.headersOf('ann')),
    );
    await ann.untilTools((names) => names.includes('whose'));
    expect(textOf((await modern.call('whose')).last)).toBe('ann -');
    server.revoke('ann');
    const mark = { arguments: { mark: 'modern' } };
    const first = required(await modern.call('whose', mark));
    const [[opened, { params }]] = Object.entries(first.requests) as unknown as [
      [string, { readonly params: JsonObject }],
    ];
    const waits = modern.call('whose', {
      ...mark,
      requestState: first.requestState,
      inputResponses: { [opened]: { action: 'accept' } },
    });
    const code = codeIn(await signInAt(addressIn(params), server.signsInAs('ann')));
    const second = required(await waits);
    const [entered = ''] = Object.keys(second.requests);
    expect(
      textOf(
        (
          await modern.call('whose', {
            ...mark,
            requestState: second.requestState,
            inputResponses: { [entered]: { action: 'accept', content: { code } } },
          })
        ).last,
      ),
    ).toBe('ann modern');
    expect([...server.executed]).toEqual([
      ['-', 1],
      ['modern', 1],
    ]);
    // Ann's connection ends no wait of Ben, who does not open the address.
    await respond(ben, bens as Message, { action: 'decline' });
    expect(await ofBen.answer()).toContain('the address was not opened');
  });
});
