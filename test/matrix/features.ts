/**
 * The features of the protocol, each as one action of one client at one server through the gateway, for any two revisions. A feature reports how it ends:
 * unchanged, converted to the client's older revision, or missing because one side's revision has no such feature; and it checks that this is right.
 */
import assert from 'node:assert/strict';
import type { JsonObject } from '@omnibus/protocol';
import type { Message } from '../support/raw-client.ts';
import type { EraClient, Reply } from './era-client.ts';
import type { EraServer } from './era-server.ts';

export type Ending =
  /** Unchanged. */
  | '●'
  /** Converted to the client's revision. */
  | '◐'
  /** Missing in the revision of one side. */
  | '·';

export interface Pair {
  readonly client: EraClient;
  readonly server: EraServer;
  /** The public name of the server's tool or prompt. */
  readonly named: (name: string) => string;
}

const plain = ({ result: { resultType: _type, _meta, ...rest } }: Reply): JsonObject => rest;
const textOf = ({ result }: Reply): string => String((result['content'] as { text?: string }[] | undefined)?.[0]?.text);
const blockOf = ({ result }: Reply): JsonObject => (result['content'] as JsonObject[])[0] as JsonObject;
const uri = ({ server }: Pair, path: string): string => `era-${server.revision}://${path}`;
const methodsOf = ({ messages }: Reply): (string | undefined)[] => messages.map(({ method }) => method);
const prefix = 'io.modelcontextprotocol/';
const relatedTask = `${prefix}related-task`;

export const features: Readonly<Record<string, (pair: Pair) => Promise<Ending>>> = {
  async handshake({ client, server }) {
    if (client.isModern) assert.deepEqual(client.introduction['supportedVersions'], [client.revision]);
    else assert.equal(client.introduction['protocolVersion'], client.revision);
    assert.match(String(client.introduction['instructions']), new RegExp(`I am ${server.revision}`));
    return '●';
  },

  async ping({ client }) {
    if (client.isModern) {
      assert.equal((await client.request('ping')).last.error?.code, -32_601);
      return '·';
    }
    assert.deepEqual((await client.request('ping')).result, {});
    return '●';
  },

  async 'tools/list'({ client, named }) {
    const { result } = await client.request('tools/list');
    assert.ok((result['tools'] as { name: string }[]).some(({ name }) => name === named('echo')));
    return '●';
  },

  async 'tools/call'({ client, named }) {
    assert.equal(textOf(await client.call(named('echo'), { say: 'hello' })), 'hello');
    return '●';
  },

  async 'tool error'({ client, named }) {
    assert.deepEqual(plain(await client.call(named('fails'))), {
      content: [{ type: 'text', text: 'it failed' }],
      isError: true,
    });
    assert.equal((await client.call(named('nothing'))).last.error?.code, -32_602);
    return '●';
  },

  async progress({ client, named }) {
    const reply = await client.call(named('progress'), {}, { _meta: { progressToken: 'mine' } });
    const heard = reply.messages
      .filter(({ method }) => method === 'notifications/progress')
      .map(({ params }) => [params?.['progressToken'], params?.['progress']]);
    assert.deepEqual(heard, [
      ['mine', 1],
      ['mine', 2],
      ['mine', 3],
    ]);
    return '●';
  },

  async logging({ client, named }) {
    if (client.isModern) client.logLevel = 'warning';
    else await client.request('logging/setLevel', { level: 'warning' });
    const reply = await client.call(named('log'));
    assert.deepEqual(
      reply.messages.filter(({ method }) => method === 'notifications/message').map(({ params }) => params?.['data']),
      ['loud'],
    );
    client.logLevel = undefined;
    return '●';
  },

  async cancellation({ client, server, named }) {
    const id = client.newId();
    const before = server.seen.filter(({ method }) => method === 'notifications/cancelled').length;
    const waiting = client.call(named('wait'), {}, { _meta: { progressToken: 't' } }, id);
    void waiting.catch(() => undefined);
    while (!server.seen.some(({ method, params }) => method === 'tools/call' && params['name'] === 'wait'))
      await client.request('tools/list');
    if (client.isModern) client.close(id);
    else await client.notify('notifications/cancelled', { requestId: id });
    while (server.seen.filter(({ method }) => method === 'notifications/cancelled').length === before)
      await client.request('tools/list');
    server.seen.splice(0);
    return '●';
  },

  async prompts({ client, named }) {
    const { result } = await client.request('prompts/get', { name: named('greet'), arguments: { who: 'you' } });
    assert.match(JSON.stringify(result['messages']), /Hello, you/);
    return '●';
  },

  async resources(pair) {
    const { client } = pair;
    for (const each of [uri(pair, 'one'), uri(pair, 'item/7')]) {
      assert.deepEqual((await client.request('resources/read', { uri: each })).result['contents'], [
        { uri: each, text: `content of ${each}` },
      ]);
    }
    const missing = await client.request('resources/read', { uri: uri(pair, 'item/missing') });
    assert.equal(missing.last.error?.code, client.isModern ? -32_602 : -32_002);
    assert.equal(missing.last.error?.data?.['uri'], uri(pair, 'item/missing'));
    return '●';
  },

  async completion({ client, named }) {
    const { result } = await client.request('completion/complete', {
      ref: { type: 'ref/prompt', name: named('greet') },
      argument: { name: 'who', value: 'x' },
    });
    assert.deepEqual(result['completion'], { values: ['x!'] });
    return '●';
  },

  async subscriptions(pair) {
    const { client, server } = pair;
    if (client.isModern) {
      const stop = client.listenTo({ resourceSubscriptions: [uri(pair, 'one')] });
      const acknowledged = await client.pushed.untilSome(
        ({ method, params }) =>
          method === 'notifications/subscriptions/acknowledged' && JSON.stringify(params).includes(uri(pair, 'one')),
      );
      server.push('notifications/resources/updated', { uri: uri(pair, 'one') });
      const updated = await client.pushed.untilSome(
        ({ method, params }) => method === 'notifications/resources/updated' && params?.['uri'] === uri(pair, 'one'),
      );
      assert.deepEqual(updated.params?.['_meta'], acknowledged.params?.['_meta']);
      stop();
      return '●';
    }
    await client.request('resources/subscribe', { uri: uri(pair, 'one') });
    server.push('notifications/resources/updated', { uri: uri(pair, 'one') });
    await client.pushed.untilSome(
      ({ method, params }) => method === 'notifications/resources/updated' && params?.['uri'] === uri(pair, 'one'),
    );
    await client.request('resources/unsubscribe', { uri: uri(pair, 'one') });
    return '●';
  },

  async 'list changes'({ client, server }) {
    // All at once, since the gateway waits a moment after each announcement before it reads the list.
    const kinds = ['tools', 'prompts', 'resources'];
    const count = client.pushed.values.length;
    for (const kind of kinds) server.push(`notifications/${kind}/list_changed`);
    await Promise.all(
      kinds.map((kind) =>
        client.pushed.untilSome(
          (message) =>
            message.method === `notifications/${kind}/list_changed` && client.pushed.values.indexOf(message) >= count,
        ),
      ),
    );
    return '●';
  },

  async roots({ client, named }) {
    assert.match(textOf(await client.call(named('roots'))), /file:\/\/\/era/);
    return '●';
  },

  async 'changes of roots'({ client, server, named }) {
    if (client.isModern || server.isModern) return '·';
    await client.call(named('roots'));
    const isChange = ({ method }: { readonly method: string }): boolean =>
      method === 'notifications/roots/list_changed';
    const before = server.seen.filter(isChange).length;
    await client.notify('notifications/roots/list_changed');
    while (server.seen.filter(isChange).length === before) await client.request('tools/list');
    return '●';
  },

  async 'progress of the client'({ client, server, named }) {
    if (client.isModern || server.isModern) return '·';
    await client.call(named('slow-question'));
    assert.ok(
      server.seen.some(
        ({ method, params }) => method === 'notifications/progress' && params['progressToken'] === 'of the server',
      ),
    );
    return '●';
  },

  async sampling({ client, named }) {
    assert.match(textOf(await client.call(named('sample'))), /sampled/);
    return '●';
  },

  async 'elicitation, form'({ client, server, named }) {
    if (!server.has('2025-06-18')) return '·';
    const reply = await client.call(named('form'));
    if (!client.has('2025-06-18')) {
      assert.match(JSON.stringify(reply.last), /refused|cancel/);
      assert.equal('elicitation' in server.clientCapabilities, false);
      return '·';
    }
    assert.match(textOf(reply), /"answer":"given"/);
    const asked = client.asked.values.findLast(({ method }) => method === 'elicitation/create');
    const isNative = !server.has('2025-11-25') || client.has('2025-11-25');
    assert.equal(JSON.stringify(asked?.params).includes('"default"'), server.has('2025-11-25') && isNative);
    return isNative ? '●' : '◐';
  },

  async 'elicitation, URL'({ client, server, named }) {
    if (!server.has('2025-11-25')) return '·';
    const reply = await client.call(named('visit'));
    if (!client.has('2025-11-25')) {
      assert.match(JSON.stringify(reply.last), /refused|cancel/);
      return '·';
    }
    assert.match(textOf(reply), /accept/);
    if (client.isModern || server.isModern) return '●';
    const asked = client.asked.values.findLast(({ params }) => params?.['mode'] === 'url') as Message;
    await client.pushed.untilSome(
      ({ method, params }) =>
        method === 'notifications/elicitation/complete' &&
        params?.['elicitationId'] === asked.params?.['elicitationId'],
    );
    return '●';
  },

  async 'URL elicitation required'({ client, server, named }) {
    if (server.revision !== '2025-11-25') return '·';
    const reply = await client.call(named('refused'));
    if (client.isModern) {
      // The client is sent to the URL, and the server is called again; it requires the same again, up to a bound.
      assert.ok(client.asked.values.filter(({ params }) => params?.['url'] === 'https://example.com/first').length > 1);
      return '◐';
    }
    if (client.has('2025-11-25')) {
      assert.equal(reply.last.error?.code, -32_042);
      return '●';
    }
    assert.equal(reply.result['isError'], true);
    assert.match(textOf(reply), /https:\/\/example.com\/first/);
    return '◐';
  },

  async audio({ client, server, named }) {
    if (!server.has('2025-03-26')) return '·';
    const block = blockOf(await client.call(named('audio')));
    assert.equal(block['type'], client.has('2025-03-26') ? 'audio' : 'text');
    return client.has('2025-03-26') ? '●' : '◐';
  },

  async 'resource links'({ client, server, named }) {
    if (!server.has('2025-06-18')) return '·';
    const block = blockOf(await client.call(named('link')));
    assert.equal(block['type'], client.has('2025-06-18') ? 'resource_link' : 'text');
    assert.match(JSON.stringify(block), /era:\/\/one/);
    return client.has('2025-06-18') ? '●' : '◐';
  },

  async 'structured content'({ client, server, named }) {
    if (!server.has('2025-06-18')) return '·';
    const reply = await client.call(named('structured'));
    if (client.has('2025-06-18')) {
      assert.deepEqual(reply.result['structuredContent'], { n: 7 });
      return '●';
    }
    assert.equal(textOf(reply), '{"n":7}');
    return '◐';
  },

  async 'output of any shape'({ client, server, named }) {
    if (!server.isModern) return '·';
    const { result } = await client.request('tools/list');
    const { outputSchema } = (result['tools'] as { name: string; outputSchema: JsonObject }[]).find(
      ({ name }) => name === named('any'),
    ) as { outputSchema: JsonObject };
    const reply = await client.call(named('any'));
    if (client.isModern) {
      assert.equal(outputSchema['type'], 'array');
      assert.deepEqual(reply.result['structuredContent'], [1, 2]);
      return '●';
    }
    assert.deepEqual(outputSchema, {
      type: 'object',
      properties: { result: { type: 'array', items: { type: 'number' } } },
      required: ['result'],
    });
    if (client.has('2025-06-18')) assert.deepEqual(reply.result['structuredContent'], { result: [1, 2] });
    assert.equal(textOf(reply), '[1,2]');
    return '◐';
  },

  async 'server breaks its stream'({ client, server, named }) {
    if (!server.has('2025-03-26') || server.isModern) return '·';
    assert.equal(textOf(await client.call(named('polled'))), 'after the break');
    return '●';
  },

  async batch({ client, named }) {
    if (client.revision !== '2025-03-26') return '·';
    const answers = await client.batch([
      { method: 'ping' },
      { method: 'tools/call', params: { name: named('echo'), arguments: { say: 'batched' } } },
    ]);
    assert.deepEqual(
      answers.map(({ result }) => result),
      [{}, { content: [{ type: 'text', text: 'batched' }] }],
    );
    return '●';
  },

  async 'jobs of the tasks extension'({ client, server, named }) {
    if (!server.isModern) return '·';
    if (!client.isModern) {
      const reply = await client.call(named('job'));
      assert.match(textOf(reply), /the result of a job.*file:\/\/\/era/);
      return '◐';
    }
    assert.equal((await client.call(named('job'))).last.error?.code, -32_021);
    const meta = { _meta: { [`${prefix}clientCapabilities`]: { roots: {}, extensions: { [`${prefix}tasks`]: {} } } } };
    const { taskId, resultType } = (await client.call(named('job'), {}, meta)).result;
    assert.equal(resultType, 'task');
    assert.doesNotMatch(String(taskId), /^job-/);
    const job = (await client.request('tasks/get', { taskId, ...meta })).result;
    assert.equal(job['taskId'], taskId);
    assert.deepEqual(Object.keys(job['inputRequests'] as object), ['where']);
    await client.request('tasks/update', { taskId, inputResponses: { where: { roots: [] } }, ...meta });
    assert.equal((await client.request('tasks/get', { taskId, ...meta })).result['status'], 'completed');
    return '●';
  },

  async 'trace context'({ client, server, named }) {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await client.call(named('echo'), { say: 'traced' }, { _meta: { traceparent } });
    assert.equal(
      (server.seen.findLast(({ method }) => method === 'tools/call')?.params['_meta'] as JsonObject)['traceparent'],
      traceparent,
    );
    return '●';
  },

  async apps({ client, server, named }) {
    if (!server.has('2025-06-18')) return '·';
    const tools = (await client.request('tools/list')).result['tools'] as JsonObject[];
    const { ui } = tools.find(({ name }) => name === named('app'))?.['_meta'] as { readonly ui: JsonObject };
    // Every server here has the same address for its page, so all but the first have an alias.
    const alias = `ui://omnibus/${named('').replace(/__$/, '')}/era/app.html`;
    assert.ok(['ui://era/app.html', alias].includes(String(ui['resourceUri'])));
    return '●';
  },

  async skills({ client, server }) {
    if (!server.isModern) return '·';
    const { result } = await client.request('skills/list');
    assert.deepEqual(
      (result['skills'] as JsonObject[]).map(({ uri: skill }) => skill),
      ['skill://era/greeting/SKILL.md'],
    );
    assert.deepEqual(
      (await client.request('skills/get', { uri: 'skill://era/greeting/SKILL.md' })).result['frontmatter'],
      { name: 'greeting' },
    );
    return '●';
  },

  async 'tasks, by the extension'({ client, server, named }) {
    if (server.revision !== '2025-11-25' || !client.isModern) return '·';
    const meta = { _meta: { [`${prefix}clientCapabilities`]: { roots: {}, extensions: { [`${prefix}tasks`]: {} } } } };
    const created = (await client.call(named('task'), {}, meta)).result;
    assert.equal(created['resultType'], 'task');
    assert.equal(created['ttlMs'], 60_000);
    const { taskId } = created;
    const asking = (await client.request('tasks/get', { taskId, ...meta })).result;
    assert.equal(asking['status'], 'input_required');
    const [[key, request] = ['', {}]] = Object.entries(asking['inputRequests'] as Record<string, JsonObject>);
    assert.equal(request['method'], 'roots/list');
    assert.equal(
      (
        await client.request('tasks/update', {
          taskId,
          inputResponses: { [key]: { roots: [{ uri: 'file:///era' }] } },
          ...meta,
        })
      ).result['resultType'],
      'complete',
    );
    let task = asking;
    while (task['status'] !== 'completed') task = (await client.request('tasks/get', { taskId, ...meta })).result;
    assert.match(JSON.stringify(task['result']), /the result of a task.*file:\/\/\/era/);
    assert.equal(JSON.stringify(task).includes(relatedTask), false);
    assert.equal((await client.request('tasks/cancel', { taskId, ...meta })).result['resultType'], 'complete');
    assert.equal((await client.request('tasks/get', { taskId })).last.error?.code, -32_021);
    assert.equal((await client.request('tasks/get', { taskId: 'task-1', ...meta })).last.error?.code, -32_602);
    return '◐';
  },

  async tasks({ client, server, named }) {
    if (server.revision !== '2025-11-25') return '·';
    if (client.revision !== '2025-11-25') {
      // For a client without tasks, the gateway waits for the result.
      const reply = await client.call(named('task'));
      assert.match(JSON.stringify(reply.result), /the result of a task.*file:\/\/\/era/);
      assert.equal(JSON.stringify(reply.last).includes(relatedTask), false);
      return '◐';
    }
    const created = (await client.call(named('task'), {}, { task: { ttl: 60_000 } })).result['task'] as JsonObject;
    const taskId = String(created['taskId']);
    assert.doesNotMatch(taskId, /^task-/);
    const status = await client.pushed.untilSome(
      ({ method, params }) => method === 'notifications/tasks/status' && params?.['taskId'] === taskId,
    );
    assert.equal(status.params?.['status'], 'input_required');
    assert.equal((await client.request('tasks/get', { taskId })).result['status'], 'input_required');
    assert.ok(
      ((await client.request('tasks/list')).result['tasks'] as JsonObject[]).some((task) => task['taskId'] === taskId),
    );
    const reply = await client.request('tasks/result', { taskId });
    assert.match(JSON.stringify(reply.result), /the result of a task.*file:\/\/\/era/);
    assert.equal(((reply.result['_meta'] as JsonObject)[relatedTask] as JsonObject)['taskId'], taskId);
    assert.ok(methodsOf(reply).includes('roots/list'));
    assert.equal((await client.request('tasks/cancel', { taskId })).last.error?.code, -32_602);
    assert.equal((await client.request('tasks/get', { taskId: 'task-1' })).last.error?.code, -32_602);
    return '●';
  },
};
