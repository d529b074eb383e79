/**
 * The features of a direct call, each from inside a script (`run_code`): what a script of one client gets of it, for clients of every revision where the
 * feature shows. A feature checks what it gets, and fails otherwise.
 */
import assert from 'node:assert/strict';
import { tasksExtension, type JsonObject } from '@omnibus/protocol';
import type { EraClient, Reply } from './era-client.ts';
import type { MatrixRevision } from './era-server.ts';
import { untilThere, untilTrue } from '../support/paced.ts';
import type { ScriptGround } from './script-ground.ts';

export interface ScriptFeature {
  /** The oldest revision of clients in which it shows; default: every one. */
  readonly since?: MatrixRevision;
  /** @param open opens another client of the revision, with more capabilities. */
  readonly run: (
    ground: ScriptGround,
    client: EraClient,
    user: string,
    open: (user: string, more?: JsonObject) => Promise<EraClient>,
  ) => Promise<void>;
}

const textOf = ({ result }: Reply): string => String((result['content'] as { text?: string }[] | undefined)?.[0]?.text);
const script = (client: EraClient, code: string, more: JsonObject = {}, id?: string): Promise<Reply> =>
  client.call('run_code', { code }, more, id);
/** The value that a script returns. */
const valueOf = async (client: EraClient, code: string, more: JsonObject = {}): Promise<unknown> => {
  const reply = await script(client, code, more);
  assert.notEqual(reply.result['isError'], true, textOf(reply));
  assert.equal(reply.last.error, undefined);
  const text = textOf(reply);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
};
/** The reason with which a call of a script is refused. */
const refused = (client: EraClient, call: string): Promise<unknown> =>
  valueOf(client, `try { await ${call}; return 'answered'; } catch (error) { return error.reason; }`);
/** The text with which a call of a script fails. */
const failed = async (client: EraClient, call: string): Promise<string> =>
  String(await valueOf(client, `try { await ${call}; return 'answered'; } catch (error) { return error.message; }`));

export const scriptFeatures: Readonly<Record<string, ScriptFeature>> = {
  'results of servers of both eras': {
    async run(_ground, client) {
      assert.deepEqual(
        await valueOf(
          client,
          `return await Promise.all([servers.old.echo({ say: 'one' }), servers.new.echo({ say: 'two' }), servers.old.structured()]);`,
        ),
        ['one', 'two', { n: 7 }],
      );
    },
  },

  'contents that are no text': {
    async run(_ground, client) {
      assert.deepEqual(await valueOf(client, `return [await servers.new.audio(), await servers.old.link()];`), [
        [{ type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' }],
        [{ type: 'resource_link', uri: 'era://one', name: 'one' }],
      ]);
    },
  },

  'errors of tools': {
    async run(_ground, client) {
      assert.equal(
        await valueOf(client, `try { await servers.old.fails(); } catch (error) { return error.message; }`),
        'it failed',
      );
      const reply = await script(client, `const one = 1;\nawait servers.new.fails();`);
      assert.equal(reply.result['isError'], true);
      assert.match(textOf(reply), /it failed\n {4}at line 2/);
    },
  },

  'a rule that denies': {
    async run({ work }, client) {
      assert.equal(await refused(client, `servers.work.drop({ n: 1 })`), 'policy.denied');
      assert.ok(!work.calls.values.some(({ name }) => name === 'drop'));
    },
  },

  'an external decision point that denies': {
    async run({ work }, client) {
      assert.equal(await refused(client, `servers.work.undecided()`), 'policy.denied');
      assert.ok(!work.calls.values.some(({ name }) => name === 'undecided'));
    },
  },

  'guardrails that deny and change': {
    async run({ work }, client) {
      assert.equal(await refused(client, `servers.work.plain({ long: 'x'.repeat(100) })`), 'guardrail.denied');
      assert.ok(!work.calls.values.some(({ args }) => JSON.stringify(args).includes('xxx')));
      assert.equal(await valueOf(client, `return await servers.work.mailed();`), 'write to [redacted]');
    },
  },

  'a tool with another shape': {
    async run({ work }, client, user) {
      assert.equal(await valueOf(client, `return await servers.work.shaped({ query: '${user}' });`), 'shaped is done');
      assert.ok(work.calls.values.some(({ args }) => JSON.stringify(args) === `{"q":"${user}","team":"acme"}`));
      assert.match(await failed(client, `servers.work.shaped({ query: 'mine', team: 'other' })`), /team/);
      assert.ok(!work.calls.values.some(({ args }) => JSON.stringify(args).includes('mine')));
    },
  },

  'arguments that break the schema': {
    async run({ work }, client) {
      assert.match(await failed(client, `servers.work.shaped({ query: 7 })`), /query/);
      assert.ok(!work.calls.values.some(({ args }) => args['q'] === 7));
    },
  },

  'a composite tool': {
    async run(_ground, client) {
      assert.equal(
        await valueOf(client, `return await servers.omnibus.both({ say: 'twice' });`),
        'plain is done, twice',
      );
    },
  },

  'an operation of an HTTP API': {
    async run(_ground, client) {
      assert.deepEqual(await valueOf(client, `return await servers.pets.getPet({ id: 7 });`), {
        method: 'GET',
        url: '/pets/7',
        body: '',
      });
    },
  },

  'a time limit of the tool': {
    async run(_ground, client) {
      assert.equal(await refused(client, `servers.work.hangs()`), 'upstream.timeout');
    },
  },

  'redaction by a rule': {
    async run(_ground, client) {
      assert.equal(await valueOf(client, `return await servers.work.card();`), 'card [redacted]');
    },
  },

  'an approval by its user': {
    async run({ work }, client, user) {
      const told = `{"to":"${user}"}`;
      const call = `servers.work.refund(${told})`;
      const reached = (): boolean => work.calls.values.some(({ args }) => JSON.stringify(args) === told);
      if (!client.has('2025-06-18')) {
        // Its client cannot be asked.
        assert.match(String(await refused(client, call)), /^approval\./);
        assert.equal(reached(), false);
        return;
      }
      assert.equal(await refused(client, call), 'answered');
      const asked = client.asked.values.find(({ params }) => JSON.stringify(params).includes('refund'));
      assert.match(JSON.stringify(asked?.params), new RegExp(user));
      assert.ok(reached());
    },
  },

  'an approval by others': {
    async run({ work, waiting, admin }, client, user) {
      const told = `{"by":"${user}"}`;
      const answered = refused(client, `servers.work.wire(${told})`);
      const { id, digest } = await waiting(told);
      assert.ok(!work.calls.values.some(({ args }) => JSON.stringify(args) === told));
      await admin('fin', `/approvals/${id}`, { digest, approve: true });
      assert.equal(await answered, 'answered');
    },
  },

  'a limit': {
    async run(_ground, client) {
      const calls: unknown[] = [];
      for (let count = 0; count < 3; count += 1) calls.push(await refused(client, `servers.work.few()`));
      assert.deepEqual(calls, ['answered', 'answered', 'limit.rate']);
    },
  },

  'a limit on scripts': {
    async run(_ground, client, user, open) {
      using limited = await open(`limited-${user}`);
      const reasons: unknown[] = [];
      for (let count = 0; count < 3; count += 1) {
        const { last } = await script(limited, `return await servers.work.plain();`);
        reasons.push(last.error?.data?.['reason'] ?? 'answered');
      }
      assert.deepEqual(reasons, ['answered', 'answered', 'limit.rate']);
      assert.equal(await valueOf(client, `return await servers.work.plain();`), 'plain is done');
    },
  },

  'records that name the tool, its caller and the run': {
    async run({ records }, client, user) {
      await valueOf(client, `await servers.old.echo({ say: 'for the record' });`);
      // The calls of a run are on record before it is.
      const call = await untilThere(async () => {
        const all = (await records()).filter((each) => each['user.id'] === user);
        const own = all.findLast(
          (each) =>
            each['gen_ai.tool.name'] === 'run_code' && each['omnibus.calls'] === 1 && each['omnibus.outcome'] === 'ok',
        );
        return (
          own && all.findLast((each) => each['omnibus.run'] === own['omnibus.run'] && each['omnibus.tool'] === 'echo')
        );
      });
      assert.equal(call['omnibus.server'], 'old');
    },
  },

  'progress of all calls': {
    async run(_ground, client) {
      const reply = await script(client, `await servers.old.progress(); await servers.new.progress();`, {
        _meta: { progressToken: 'mine' },
      });
      const steps = reply.messages
        .filter(({ method }) => method === 'notifications/progress')
        .map(({ params }) => [params?.['progressToken'], params?.['progress']]);
      assert.deepEqual(
        steps,
        [1, 2, 3, 4, 5, 6, 7, 8].map((step) => ['mine', step]),
      );
    },
  },

  'log messages': {
    async run(_ground, client) {
      if (client.isModern) client.logLevel = 'warning';
      else await client.request('logging/setLevel', { level: 'warning' });
      const reply = await script(client, `await servers.old.log(); await servers.new.log();`);
      assert.deepEqual(
        reply.messages.filter(({ method }) => method === 'notifications/message').map(({ params }) => params?.['data']),
        ['loud', 'loud'],
      );
      client.logLevel = undefined;
    },
  },

  sampling: {
    async run(_ground, client) {
      assert.match(
        JSON.stringify(await valueOf(client, `return [await servers.old.sample(), await servers.new.sample()];`)),
        /sampled.*sampled/,
      );
    },
  },

  roots: {
    async run(_ground, client) {
      assert.match(
        JSON.stringify(await valueOf(client, `return [await servers.old.roots(), await servers.new.roots()];`)),
        /file:\/\/\/era.*file:\/\/\/era/,
      );
    },
  },

  'elicitation, form': {
    since: '2025-06-18',
    async run(_ground, client) {
      // Both at once, since a script may ask several things.
      assert.match(
        JSON.stringify(await valueOf(client, `return await Promise.all([servers.old.form(), servers.new.form()]);`)),
        /"answer":"given".*"answer":"given"/,
      );
    },
  },

  'elicitation, URL': {
    since: '2025-11-25',
    async run(_ground, client) {
      assert.match(
        JSON.stringify(await valueOf(client, `return [await servers.old.visit(), await servers.new.visit()];`)),
        /accept.*accept/,
      );
    },
  },

  cancellation: {
    async run({ old }, client) {
      const wasCancelled = (): number => old.seen.filter(({ method }) => method === 'notifications/cancelled').length;
      const waits = (): number =>
        old.seen.filter(({ method, params }) => method === 'tools/call' && params['name'] === 'wait').length;
      const [before, begun] = [wasCancelled(), waits()];
      const id = client.newId();
      void client.call('run_code', { code: `await servers.old.wait();` }, {}, id).catch(() => undefined);
      while (waits() === begun) await client.request('tools/list');
      if (client.isModern) client.close(id);
      else await client.notify('notifications/cancelled', { requestId: id });
      while (wasCancelled() === before) await client.request('tools/list');
    },
  },

  'a time limit of the client': {
    async run(_ground, client) {
      const reply = await script(client, `await servers.old.wait();`, { _meta: { 'dev.omnibus/timeoutMs': 300 } });
      assert.match(textOf(reply), /ran for too long \(the time limit of the request\)/);
    },
  },

  'large results, whole': {
    async run(_ground, client) {
      assert.equal(await valueOf(client, `return (await servers.work.large()).length;`), 100_000);
    },
  },

  'the bound on results, for what the script returns': {
    async run(_ground, client) {
      const text = JSON.stringify((await script(client, `return await servers.work.large();`)).result);
      assert.ok(text.length < 4_000, `${text.length} characters`);
      const uri = /omnibus:\/\/result\/[\w.-]+/.exec(text)?.[0];
      const { result } = await client.request('resources/read', { uri });
      assert.equal((result['contents'] as { text: string }[])[0]?.text.length, 100_000);
    },
  },

  'labels of the conversation': {
    async run(_ground, client) {
      assert.equal(await refused(client, `servers.work.read(); await servers.work.send()`), 'policy.denied');
    },
  },

  'a block of a tool': {
    async run({ admin }, client) {
      await admin('ops', '/blocks', { kind: 'tool', name: 'work/blocked' });
      await untilTrue(async () => (await refused(client, `servers.work.blocked()`)) === 'call.blocked');
      await admin('ops', '/blocks/tool:work%2Fblocked', undefined, 'DELETE');
      await untilTrue(async () => (await refused(client, `servers.work.blocked()`)) === 'answered');
    },
  },

  'a pause of a server': {
    async run({ admin }, client) {
      await admin('ops', '/servers/still/pause', {});
      await untilTrue(async () => (await refused(client, `servers.still.echo()`)) === 'upstream.paused');
      await admin('ops', '/servers/still/resume', {});
      await untilTrue(async () => (await refused(client, `servers.still.echo()`)) === 'answered');
    },
  },

  'a script that runs as a task': {
    since: '2025-11-25',
    async run({ waiting, admin }, _client, user, open) {
      using client = await open(user, { extensions: { [tasksExtension]: {} } });
      const told = `{"task":"${user}"}`;
      const begun = await script(client, `return await servers.work.wire(${told});`, { task: {} });
      const { taskId, status } = (client.isModern ? begun.result : begun.result['task']) as JsonObject;
      assert.equal(status, 'working');
      const { id, digest } = await waiting(told);
      await admin('fin', `/approvals/${id}`, { digest, approve: true });
      const state = await untilThere(async () => {
        const { result } = await client.request('tasks/get', { taskId });
        return result['status'] === 'working' ? undefined : result;
      });
      assert.equal(state['status'], 'completed');
      const result = client.isModern ? state['result'] : (await client.request('tasks/result', { taskId })).result;
      assert.match(JSON.stringify(result), /wire is done/);
    },
  },

  'a script that runs as a task, cancelled': {
    since: '2025-11-25',
    async run({ waiting, admin }, _client, user, open) {
      using client = await open(user, { extensions: { [tasksExtension]: {} } });
      const told = `{"cancelled":"${user}"}`;
      const begun = await script(client, `return await servers.work.wire(${told});`, { task: {} });
      const { taskId } = (client.isModern ? begun.result : begun.result['task']) as JsonObject;
      const { id, digest } = await waiting(told);
      await client.request('tasks/cancel', { taskId });
      assert.equal((await client.request('tasks/get', { taskId })).result['status'], 'cancelled');
      // The approval is gone with the call that it was for.
      await assert.rejects(admin('fin', `/approvals/${id}`, { digest, approve: true }));
    },
  },

  'tools that run as tasks only': {
    async run(_ground, client) {
      assert.match(
        JSON.stringify(await valueOf(client, `return [await servers.old.task(), await servers.new.job()];`)),
        /the result of a task.*the result of a job/,
      );
    },
  },

  'a server that breaks its stream': {
    async run(_ground, client) {
      assert.equal(await valueOf(client, `return await servers.old.polled();`), 'after the break');
    },
  },

  'credentials of each user': {
    async run({ signIn }, client, user) {
      await signIn(user);
      await untilTrue(async () => (await valueOf(client, `return 'whose' in servers.personal;`)) === true);
      const [, text] = (await valueOf(client, `return [1, JSON.stringify(await servers.personal.whose())];`)) as [
        number,
        string,
      ];
      assert.ok(text.includes(user), text);
    },
  },

  'the trace context of the client': {
    async run({ old }, client) {
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      await valueOf(client, `await servers.old.echo({ say: 'traced' });`, { _meta: { traceparent } });
      const call = old.seen.findLast(({ method }) => method === 'tools/call');
      assert.equal((call?.params['_meta'] as JsonObject | undefined)?.['traceparent'], traceparent);
    },
  },
};
