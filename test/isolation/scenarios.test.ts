/** Single cases in which messages, consent or files of one client once reached another. */
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Heard } from '@omnibus/bus/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isObject, type JsonObject } from '@omnibus/protocol';
import { EraServer } from '../matrix/era-server.ts';
import { EventReader } from '../support/event-reader.ts';
import { endNow, shapesOfLane, startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import { ModernClient, required } from '../support/modern-client.ts';
import { untilThere } from '../support/paced.ts';
import { end, fixturePath, root } from '../support/processes.ts';
import { RawClient, type Message } from '../support/raw-client.ts';
import { Caller, type CallerKind } from './caller.ts';
import { KeeperHost } from './keeper-hosts.ts';
import type { Note } from './keeper.ts';

const askable: CallerKind = { wire: 'http', revision: '2025-11-25', isAskable: true };
const plainKind: CallerKind = { wire: 'http', revision: '2025-11-25', isAskable: false };
/** Sessions that support only forms once shared a connection to a server. */
const formsOnly: CallerKind = { ...askable, capabilities: { elicitation: { form: {} } } };
/** A client without a session that supports tasks. */
const withTasks = { roots: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };

async function untilListed(url: string, name: string): Promise<void> {
  using client = await RawClient.open(url);
  await client.untilTools((names) => names.includes(name));
}

/** Opens a session that accepts questions, without automatic answers. */
function openAsked(url: string): Promise<RawClient> {
  return RawClient.open(url, '2025-11-25', {}, { elicitation: {} });
}

/** Calls a tool that asks, and reads up to its question. */
async function askedBy(
  client: RawClient,
  say: string,
): Promise<{ readonly question: Message; readonly stream: EventReader }> {
  const stream = await EventReader.open(client.url, client.session as string, {
    body: { jsonrpc: '2.0', id: say, method: 'tools/call', params: { name: 'form', arguments: { say } } },
  });
  const { message } = await stream.events.untilSome((event) => event.message?.method === 'elicitation/create');
  return { question: message as Message, stream };
}

describe('consent, when the worker that holds the session is replaced', () => {
  let era: EraServer;
  let gateway: GatewayUnderTest;

  beforeAll(async () => {
    era = await EraServer.start('2025-11-25');
    gateway = await startGateway('nats', { mcpServers: { era: { url: era.url } } });
    await untilListed(gateway.url, 'form');
  });

  afterAll(async () => {
    await endNow(gateway);
    await era[Symbol.asyncDispose]();
  });

  /** @returns once the previous session worker is ending, and a new one is there. */
  async function replaceWorker(signal: NodeJS.Signals): Promise<{ readonly stopped: Promise<void> }> {
    const old = gateway.processes.find(
      (part) =>
        part !== gateway.edge &&
        part !== gateway.backend &&
        part.child.exitCode === null &&
        part.child.signalCode === null,
    );
    await gateway.startPart('session');
    if (old === undefined) throw new Error('there is no session worker');
    const stopped = end(old, signal);
    if (signal === 'SIGKILL') await stopped;
    return { stopped };
  }

  it('is never used for another action: an answer from before a takeover does not answer a question after it', async () => {
    using client = await openAsked(gateway.url);
    const { question: newsletter } = await askedBy(client, 'newsletter');
    await replaceWorker('SIGKILL');
    // A call that is sent before NATS knows that the worker is gone is interrupted. A list is requested again, and then the session has been taken over.
    await client.toolNames();
    const { question: deletion, stream } = await askedBy(client, 'delete everything');
    expect(deletion.id).not.toEqual(newsletter.id);
    await client.post({ jsonrpc: '2.0', id: newsletter.id, result: { action: 'accept', content: { answer: 'yes' } } });
    await client.post({ jsonrpc: '2.0', id: deletion.id, result: { action: 'decline' } });
    const { message } = await stream.events.untilSome((event) => event.message?.id === 'delete everything');
    expect(JSON.stringify(message)).toContain('decline');
    expect(JSON.stringify(message)).not.toContain('accept');
    // The question about the newsletter is open, and a worker that leaves would wait for its call.
    await client.delete();
  });

  it('that comes in the moment in which a worker begins to leave reaches the call that asked for it', async () => {
    using client = await openAsked(gateway.url);
    for (const say of ['first', 'second', 'third']) {
      const { question, stream } = await askedBy(client, say);
      const { stopped } = await replaceWorker('SIGTERM');
      const given = await client.post({
        jsonrpc: '2.0',
        id: question.id,
        result: { action: 'accept', content: { answer: 'yes' } },
      });
      expect([given.status, given.body]).toEqual([202, '']);
      let answer: Message | undefined;
      for (let current = stream; answer === undefined;) {
        await Promise.race([current.events.untilSome((event) => event.message?.id === say), current.ended]);
        answer = current.messages.find(({ id }) => id === say);
        if (answer === undefined)
          current = await EventReader.open(gateway.url, client.session as string, { lastEventId: current.lastId });
      }
      expect(JSON.stringify(answer)).toContain('accept');
      await stopped;
    }
  });
});

/** Each test has a server of its own, at the endpoint of that server. */
describe.each(shapesOfLane)('clients kept apart, %s', (shape) => {
  const all = new AsyncDisposableStack();
  let stack: AsyncDisposableStack;
  let url: string;
  const notes = new Heard<Note>();
  const folders: string[] = [];

  beforeAll(async () => {
    const newFolder = async (name: string): Promise<string> => {
      const folder = await realpath(await mkdtemp(join(tmpdir(), `omnibus-${name}-`)));
      all.defer(() => rm(folder, { recursive: true }));
      return folder;
    };
    const journal = join(await newFolder('notes'), 'notes');
    for (const name of ['public', 'alice', 'bob']) folders.push(await newFolder(name));
    for (const folder of folders) await writeFile(join(folder, 'file.txt'), `the file in ${folder}`);
    const asking = all.use(await KeeperHost.start('asking', '2025-11-25', notes.add));
    const touched = all.use(await KeeperHost.start('touched', '2025-11-25', () => undefined));
    const era = all.use(await EraServer.start('2025-11-25'));
    ({ url } = all.use(
      await startGatewayHere(shape, {
        mcpServers: {
          asking: { url: asking.url('http') },
          files: { command: join(root, 'node_modules/.bin/mcp-server-filesystem'), args: [folders[0]] },
          pipe: { command: 'node', args: [fixturePath('keeper-stdio'), '2025-11-25', 'pipe', journal] },
          touched: { url: touched.url('http') },
          era: { url: era.url },
        },
      }),
    ));
  });

  afterAll(() => all.disposeAsync());

  beforeEach(() => {
    stack = new AsyncDisposableStack();
  });

  afterEach(() => stack.disposeAsync());

  /** The endpoint of a server, once it offers a tool. */
  async function endpointOf(server: string, tool: string): Promise<string> {
    await untilListed(`${url}/${server}`, tool);
    return `${url}/${server}`;
  }

  async function open(kind: CallerKind, url: string): Promise<Caller> {
    const caller = await Caller.open(kind, url);
    stack.defer(() => caller.close());
    return caller;
  }

  it("a question on a server's standing stream reaches the session it is for, not the one that happens to have a call in flight", async () => {
    const endpoint = await endpointOf('asking', 'later');
    const [asker, busy] = [await open(formsOnly, endpoint), await open(formsOnly, endpoint)];
    const busyId = busy.newId();
    const waiting = busy.request('tools/call', { name: 'wait', arguments: { marker: busy.newMarker() } }, busyId);
    await notes.untilSome(({ kind }) => kind === 'secret');
    const marker = asker.newMarker();
    await asker.request('tools/call', { name: 'later', arguments: { marker } });
    const became = await notes.untilSome((note) => note.kind === 'later' && note.marker === marker);
    expect(busy.asked).toBe(0);
    expect(became).toMatchObject({ answer: expect.stringContaining(marker) as string });
    expect([...busy.foreign(), ...asker.foreign()]).toEqual([]);
    await busy.cancel(busyId);
    await waiting;
  });

  it('the roots of one client without a session open nothing to another: the official filesystem server', async () => {
    const [open_, alice, bob] = folders as [string, string, string];
    const endpoint = await endpointOf('files', 'read_text_file');
    /** @returns the text of the answer to a client that has these roots. */
    const read = async (roots: string | undefined, folder: string): Promise<string> => {
      using client = new ModernClient(endpoint, roots === undefined ? {} : { roots: {} });
      const call = { name: 'read_text_file', arguments: { path: join(folder, 'file.txt') } };
      let answer = await client.request('tools/call', call);
      while (answer.last.result?.['resultType'] === 'input_required') {
        const { requests, requestState } = required(answer);
        const inputResponses = Object.fromEntries(
          Object.keys(requests).map((key) => [key, { roots: [{ uri: `file://${roots}` }] }]),
        );
        answer = await client.request('tools/call', { ...call, requestState, inputResponses });
      }
      return JSON.stringify(answer.last);
    };
    // This server looks at the folders after it has the roots, and meanwhile serves calls by those of before.
    await expect.poll(() => read(alice, alice)).toContain(`the file in ${alice}`);
    expect(await read(bob, alice)).not.toContain('the file in');
    expect(await read(undefined, alice)).not.toContain('the file in');
    await expect.poll(() => read(bob, bob)).toContain(`the file in ${bob}`);
    expect(await read(undefined, open_)).toContain(`the file in ${open_}`);
    const both = await Promise.all([read(alice, alice), read(bob, alice), read(alice, bob), read(bob, bob)]);
    expect(both.map((answer) => answer.includes('the file in'))).toEqual([true, false, false, true]);
  });

  it('log messages of two calls in flight at a shared program reach no other client, and those of a call that is alone reach its client', async () => {
    const endpoint = await endpointOf('pipe', 'talk');
    const callers = await Promise.all([1, 2, 3].map(() => open(plainKind, endpoint)));
    const talk = (caller: Caller, marker: string) =>
      caller.request('tools/call', { name: 'talk', arguments: { marker } });
    const [alone] = callers as [Caller];
    const marker = alone.newMarker();
    const reply = await talk(alone, marker);
    const isLog = ({ method, params }: Message): boolean =>
      method === 'notifications/message' && JSON.stringify(params).includes(marker);
    if (!reply.messages.some(isLog)) await alone.pushed.untilSome(isLog);
    for (let round = 0; round < 20; round += 1)
      await Promise.all(callers.slice(0, 2).map((caller) => talk(caller, caller.newMarker())));
    expect(callers.flatMap((caller) => caller.foreign())).toEqual([]);
  });

  it('updates of a resource go to the session that subscribed to it', async () => {
    const endpoint = await endpointOf('touched', 'touch');
    const callers = await Promise.all(
      [plainKind, plainKind, askable, { ...plainKind, wire: 'ws' } as const].map((kind) => open(kind, endpoint)),
    );
    const markers = callers.map((caller) => caller.newMarker());
    const uris = markers.map((marker) => `keeper-touched://note/${marker}`);
    await Promise.all(
      callers.map((caller, index) => caller.request('resources/subscribe', { uri: uris[index] as string })),
    );
    await Promise.all(
      callers.map((caller, index) =>
        caller.request('tools/call', { name: 'touch', arguments: { marker: markers[index] as string } }),
      ),
    );
    await Promise.all(
      callers.map((caller, index) => caller.pushed.untilSome(({ params }) => params?.['uri'] === uris[index])),
    );
    expect(callers.flatMap((caller) => caller.foreign())).toEqual([]);
  });

  it("a question of one task is answered by the owner of that task, under no other task's name", async () => {
    const endpoint = await endpointOf('era', 'task');
    using alice = new ModernClient(endpoint, withTasks);
    using bob = new ModernClient(endpoint, withTasks);
    const created = await Promise.all(
      [alice, bob].map(async (client) => {
        const { taskId } = (await client.call('task')).last.result as { readonly taskId: string };
        const { inputRequests } = (await client.request('tasks/get', { taskId })).last.result as {
          readonly inputRequests: JsonObject;
        };
        return { taskId, key: Object.keys(inputRequests)[0] as string };
      }),
    );
    const [hers, his] = created as [{ taskId: string; key: string }, { taskId: string; key: string }];
    const stolen = { roots: [{ uri: 'file:///stolen' }] };
    const near = [...Array(5).keys()].flatMap((step) => [
      `${his.key}${step}`,
      his.key.replace(/\d+(?!.*\d)/, (digits) => String(Number(digits) + step - 2)),
    ]);
    for (const key of [hers.key, ...near])
      if (key !== his.key) await bob.request('tasks/update', { taskId: his.taskId, inputResponses: { [key]: stolen } });
    await bob.request('tasks/update', { taskId: 'task-1', inputResponses: { [hers.key]: stolen } });
    await alice.request('tasks/update', {
      taskId: hers.taskId,
      inputResponses: { [hers.key]: { roots: [{ uri: 'file:///hers' }] } },
    });
    await bob.request('tasks/update', {
      taskId: his.taskId,
      inputResponses: { [his.key]: { roots: [{ uri: 'file:///his' }] } },
    });
    const resultOf = (client: ModernClient, taskId: string): Promise<string> =>
      untilThere(async () => {
        const { result } = (await client.request('tasks/get', { taskId })).last;
        return isObject(result) && result['status'] === 'input_required' ? undefined : JSON.stringify(result);
      });
    const [herResult, hisResult] = [await resultOf(alice, hers.taskId), await resultOf(bob, his.taskId)];
    expect(herResult).toContain('file:///hers');
    expect(hisResult).toContain('file:///his');
    expect(herResult + hisResult).not.toContain('stolen');
  });
});
