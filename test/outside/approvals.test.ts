/** Calls that need an approval, in the running gateway: of their user, of approvers at the admin port of another process, and without an answer. */
import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { approvals, type Approval, type Approvals, type Processes } from '@omnibus/admin-api';
import { inboxOf, openNatsBus, subjects } from '@omnibus/bus';
import { Heard } from '@omnibus/bus/testing';
import type { JsonObject } from '@omnibus/protocol';
import { shapesOfLane } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { Keys } from '../support/keys.ts';
import { ModernClient, required } from '../support/modern-client.ts';
import { saidHere } from '../support/command-here.ts';
import { RawClient, type Answer, type Message } from '../support/raw-client.ts';
import { tool, Upstream } from '../support/upstream.ts';

const secret = 'a secret of sixteen and more';
const newest = '2025-11-25';
const yes = { action: 'accept', content: { approve: true } };
const rules = [
  {
    id: 'small',
    who: 'group:support',
    ask: ['bank/refund'],
    args: { amount: { max: 100 } },
    because: 'money is gone then',
  },
  {
    id: 'large',
    who: 'group:support',
    ask: ['bank/refund'],
    args: { amount: { min: 101 } },
    approvers: ['group:finance'],
  },
];
const reasonOf = ({ last }: Answer): unknown => (last.result === undefined ? last.error?.data?.['reason'] : 'answered');

/** A request to a webhook, with its signature. */
interface Told {
  readonly body: string;
  readonly signature: string;
}

describe.each(shapesOfLane)('%s', (shape) => {
  let folder: string;
  let keys: Keys;
  let bank: Upstream;
  let webhook: Server;
  let gateway: GatewayHere;
  let admin: string;
  const told = new Heard<Told>();
  let failures = 1;

  const omnibus = (as: string, ...args: readonly string[]): ReturnType<typeof saidHere> =>
    saidHere([...args, '--admin', admin], {
      env: { OMNIBUS_TOKEN: keys.headersOf(as)['authorization']?.slice('Bearer '.length) ?? '' },
    });
  const asked = async (
    as: string,
    { id, ...body }: JsonObject & { readonly id?: string } = {},
  ): Promise<{ readonly status: number; readonly text: string }> => {
    const response = await fetch(`http://${admin}/api/v1/approvals${id === undefined ? '' : `/${id}`}`, {
      headers: { ...keys.headersOf(as), 'content-type': 'application/json', 'x-omnibus-console': '1' },
      ...(id === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  };
  const withForms = (who: string, revision: string): Promise<RawClient> =>
    RawClient.open(gateway.url, revision, keys.headersOf(who), { elicitation: {} });
  const calls = (): number => bank.requests.filter(({ method }) => method === 'tools/call').length;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'omnibus-approvals-'));
    keys = await Keys.makeOf({ ann: ['support'], fin: ['finance'], ops: [], both: ['support', 'finance'] });
    bank = await Upstream.start({ tools: ['refund', 'look'].map(tool) });
    webhook = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString('utf8')));
      request.on('end', () => {
        failures -= 1;
        // The first attempt fails, and is repeated.
        if (failures >= 0) response.writeHead(503).end();
        else {
          told.add({ body, signature: String(request.headers['omnibus-signature']) });
          response.writeHead(204).end();
        }
      });
    });
    await new Promise<void>((resolve) => {
      webhook.listen(0, '127.0.0.1', resolve);
    });
    gateway = await startGatewayHere(shape, {
      auth: { ...keys.auth, admin: { roles: { approver: ['group:finance'], operator: ['key:ops'] } } },
      mcpServers: { bank: { url: bank.url } },
      access: {
        rules,
        approvals: {
          clients: true,
          webhook: { url: `http://127.0.0.1:${(webhook.address() as AddressInfo).port}/told`, secret },
        },
      },
      audit: { sinks: [{ kind: 'file', folder: join(folder, 'audit') }] },
    });
    // The approver asks another process than the one that holds the call.
    const session = shape === 'nats' ? await gateway.startPart('session') : gateway.edge;
    admin = await gateway.admin(session);
    using hers = await RawClient.open(gateway.url, newest, keys.headersOf('ann'));
    await hers.untilTools((names) => names.includes('refund'));
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    webhook.closeAllConnections();
    webhook.close();
    await Promise.all([bank, keys].map((each) => each[Symbol.asyncDispose]()));
    await rm(folder, { recursive: true });
  });

  it('shows a user of 2025-11-25 the exact call in a form, and makes it once', async () => {
    using client = await withForms('ann', newest);
    const before = calls();
    const messages: Message[] = [];
    await client.stream(
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'refund', arguments: { amount: 20 } } },
      async (message) => {
        messages.push(message);
        if (message.method === 'elicitation/create') await client.post({ jsonrpc: '2.0', id: message.id, result: yes });
      },
    );
    expect(messages.map(({ method }) => method)).toEqual(['elicitation/create', undefined]);
    expect(messages[0]?.params?.['message']).toContain('arguments: {"amount":20}');
    expect(messages[1]).toHaveProperty('result');
    expect(calls()).toBe(before + 1);
  });

  it('asks a user of 2026-07-28 in a round, and the answer is good for these arguments only', async () => {
    using client = new ModernClient(gateway.url, { elicitation: { form: {} } }, keys.headersOf('ann'));
    const before = calls();
    const { requests, requestState } = required(await client.call('refund', { arguments: { amount: 30 } }));
    const inputResponses = Object.fromEntries(Object.keys(requests).map((key) => [key, yes]));
    expect(reasonOf(await client.call('refund', { arguments: { amount: 90 }, requestState, inputResponses }))).toBe(
      'state.invalid',
    );
    expect(calls()).toBe(before);
    expect(reasonOf(await client.call('refund', { arguments: { amount: 30 }, requestState, inputResponses }))).toBe(
      'answered',
    );
    expect(calls()).toBe(before + 1);
    const again = required(await client.call('refund', { arguments: { amount: 30 } }));
    expect(
      reasonOf(
        await client.call('refund', {
          arguments: { amount: 30 },
          requestState: again.requestState,
          inputResponses: Object.fromEntries(Object.keys(again.requests).map((key) => [key, { action: 'decline' }])),
        }),
      ),
    ).toBe('approval.refused');
    expect(calls()).toBe(before + 1);
  });

  it('tells a client without form elicitation that nobody can be asked', async () => {
    using older = await RawClient.open(gateway.url, newest, keys.headersOf('ann'));
    using newer = new ModernClient(gateway.url, {}, keys.headersOf('ann'));
    for (const answer of [
      await older.callTool('refund', { amount: 1 }),
      await newer.call('refund', { arguments: { amount: 1 } }),
    ])
      expect(reasonOf(answer)).toBe('approval.impossible');
  });

  it('holds a large refund until an approver, who was notified, approves it at another process', async () => {
    using older = await RawClient.open(gateway.url, newest, keys.headersOf('ann'));
    using newer = new ModernClient(gateway.url, {}, keys.headersOf('both'));
    const before = calls();
    const waiting = async (count: number): Promise<readonly JsonObject[]> => {
      const read = async (): Promise<readonly JsonObject[]> =>
        (JSON.parse((await asked('fin')).text) as Approvals).approvals.filter(({ state }) => state === 'waiting');
      await expect.poll(read).toHaveLength(count);
      return read();
    };
    const [first, second] = [
      older.callTool('refund', { amount: 5_000 }),
      newer.call('refund', { arguments: { amount: 6_000 } }),
    ];
    const found = await waiting(2);
    const of = (args: string): { readonly id: string; readonly digest: string } =>
      found.find((each) => each['arguments'] === args) as never;
    const [hers, his] = [of('{"amount":5000}'), of('{"amount":6000}')];
    const approved = (call: typeof hers): JsonObject & { readonly id: string } => ({
      id: call.id as string,
      digest: call.digest,
      approve: true,
    });
    // Neither an unlisted caller with the role, nor the caller of the call, nor one without the role may approve.
    expect(await asked('ops', approved(hers))).toMatchObject({
      status: 403,
      text: expect.stringContaining('this is for group:finance') as string,
    });
    expect(await asked('both', approved(his))).toMatchObject({
      status: 403,
      text: expect.stringContaining('no user approves their own calls or grants') as string,
    });
    expect(await asked('fin', { ...approved(hers), digest: his.digest })).toMatchObject({
      status: 409,
      text: expect.stringContaining('not the call that was shown') as string,
    });
    expect(await asked('ann')).toMatchObject({ status: 403 });
    expect(calls()).toBe(before);
    expect(await omnibus('fin', 'approvals', 'approve', hers.id, '--yes')).toMatchObject({
      status: 0,
      output: expect.stringContaining(`${hers.id} is approved`) as string,
    });
    expect(reasonOf(await first)).toBe('answered');
    expect(await omnibus('fin', 'approvals', 'deny', his.id, '--reason', 'ask again tomorrow')).toMatchObject({
      status: 0,
    });
    expect((await second).last.error).toMatchObject({
      message: expect.stringContaining('ask again tomorrow') as string,
      data: { reason: 'approval.refused', rule: 'large' },
    });
    expect(calls()).toBe(before + 1);
    expect(await asked('fin', approved(hers))).toMatchObject({
      status: 409,
      text: expect.stringContaining('does not wait any more') as string,
    });

    await told.until(4);
    const [one] = told.values;
    const [, at, hmac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(one?.signature ?? '') ?? [];
    expect(hmac).toBe(createHmac('sha256', secret).update(`${at}.${one?.body}`).digest('hex'));
    expect(told.values.map(({ body }) => String((JSON.parse(body) as JsonObject)['state'])).toSorted()).toEqual([
      'approved',
      'refused',
      'waiting',
      'waiting',
    ]);
  });

  it('shows and decides calls over the API of every process with the sealing key, for permitted callers, and tells the others the reason', async () => {
    using hers = await RawClient.open(gateway.url, newest, keys.headersOf('ann'));
    using his = new ModernClient(gateway.url, {}, keys.headersOf('both'));
    const ports = shape === 'nats' ? [gateway.edge, gateway.processes[1] as typeof gateway.edge] : [gateway.edge];
    const [first, last] = [
      await gateway.admin(ports[0] as typeof gateway.edge),
      await gateway.admin(ports.at(-1) as typeof gateway.edge),
    ];
    const api = async <Body>(
      as: string,
      path: string,
      body?: object,
      port = first,
    ): Promise<{ readonly status: number; readonly said: Body }> => {
      const response = await fetch(`http://${port}/api/v1${path}`, {
        headers: {
          ...keys.headersOf(as),
          ...(body === undefined
            ? {}
            : {
                'content-type': 'application/json',
                'x-omnibus-console': '1',
                'idempotency-key': Buffer.from(path + JSON.stringify(body))
                  .toString('base64url')
                  .slice(-150),
              }),
        },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      });
      return { status: response.status, said: (await response.json()) as Body };
    };
    const before = calls();
    const [refund, own] = [
      hers.callTool('refund', { amount: 7_000 }),
      his.call('refund', { arguments: { amount: 8_000 } }),
    ];
    await expect.poll(async () => (await api<Approvals>('fin', '/approvals')).said.waiting).toBe(2);
    const { said } = await api<Approvals>('fin', '/approvals?state=waiting', undefined, last);
    expect(approvals.parse(said)).toEqual(said);
    const of = (list: Approvals, args: string): Approval =>
      list.approvals.find((each) => each.arguments === args) as Approval;
    const [call, mine] = [of(said, '{"amount":7000}'), of(said, '{"amount":8000}')];
    expect(call).toMatchObject({
      server: 'bank',
      tool: 'refund',
      rule: 'large',
      state: 'waiting',
      mayDecide: true,
      approvers: ['group:finance'],
      who: ['omnibus:keys|ann'],
    });
    expect(of((await api<Approvals>('both', '/approvals')).said, '{"amount":8000}')).toMatchObject({
      mayDecide: false,
      obstacle: 'no user approves their own calls or grants',
    });
    expect(of((await api<Approvals>('ops', '/approvals')).said, '{"amount":7000}')).toMatchObject({
      mayDecide: false,
      obstacle: 'this is for group:finance',
    });
    expect(await api('ann', '/approvals')).toMatchObject({ status: 403, said: { reason: 'forbidden' } });
    expect(
      (await fetch(`http://${first}/api/v1/watch?topics=approvals`, { headers: keys.headersOf('ann') })).status,
    ).toBe(403);
    const stop = new AbortController();
    const stream = await fetch(`http://${first}/api/v1/watch?topics=approvals`, {
      headers: keys.headersOf('ops'),
      signal: stop.signal,
    });
    const told = new Heard<Approvals>();
    const reading = (async () => {
      let rest = '';
      for await (const piece of (stream.body as ReadableStream<Uint8Array>).pipeThrough(
        new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>,
      ) as unknown as AsyncIterable<string>) {
        const events = `${rest}${piece}`.split('\n\n');
        rest = events.pop() ?? '';
        for (const event of events)
          if (event.startsWith('event: approvals\ndata: '))
            told.add(JSON.parse(event.slice('event: approvals\ndata: '.length)) as Approvals);
      }
    })().catch(() => undefined);
    expect(of(await told.untilSome(({ waiting }) => waiting === 2), '{"amount":7000}')).toMatchObject({
      mayDecide: false,
      obstacle: 'this is for group:finance',
    });
    const approve = { digest: call.digest, approve: true };
    expect(await api('fin', `/approvals/${call.id}`, { ...approve, approve: 'yes' })).toMatchObject({
      status: 400,
      said: { reason: 'invalid', problem: expect.stringContaining('approve') as string },
    });
    expect(await api('both', `/approvals/${mine.id}`, { digest: mine.digest, approve: true })).toMatchObject({
      status: 403,
      said: { reason: 'forbidden', problem: expect.stringContaining('their own calls') as string },
    });
    expect(await api('fin', `/approvals/${call.id}`, { ...approve, digest: mine.digest })).toMatchObject({
      status: 409,
      said: { reason: 'conflict', problem: expect.stringContaining('not the call that was shown') as string },
    });
    expect(await api('fin', '/approvals/none', approve)).toMatchObject({ status: 404, said: { reason: 'unknown' } });
    expect(calls()).toBe(before);
    const done = await api<object>('fin', `/approvals/${call.id}`, approve);
    expect(done).toEqual({ status: 200, said: { id: call.id, state: 'approved', by: 'omnibus:keys|fin' } });
    expect(await api('fin', `/approvals/${call.id}`, approve)).toEqual(done); // The same act with the same key.
    expect(reasonOf(await refund)).toBe('answered');
    expect(of(await told.untilSome(({ waiting }) => waiting === 1), '{"amount":8000}')).toMatchObject({
      state: 'waiting',
    });
    stop.abort();
    await reading;
    expect(
      await api('fin', `/approvals/${mine.id}`, { digest: mine.digest, approve: false, reason: 'not today' }, last),
    ).toMatchObject({ status: 200, said: { state: 'refused' } });
    expect((await own).last.error).toMatchObject({ message: expect.stringContaining('not today') as string });
    expect(calls()).toBe(before + 1);
    await expect
      .poll(async () => (await api<{ readonly approval: Approval }>('fin', `/approvals/${call.id}`)).said.approval)
      .toMatchObject({ state: 'used', by: 'omnibus:keys|fin', mayDecide: false });
    expect((await omnibus('fin', 'approvals', 'list', '--all')).output).toMatch(new RegExp(`${mine.id} +refused`));
    if (shape === 'nats') {
      // A backend worker has no sealing key, so it cannot sign for a user; and an unsigned decision does not count.
      const third = new ModernClient(gateway.url, {}, keys.headersOf('ann')).call('refund', {
        arguments: { amount: 9_000 },
      });
      await expect.poll(async () => (await api<Approvals>('fin', '/approvals')).said.waiting).toBe(1);
      const backend = await gateway.admin(gateway.backend);
      const [waiting] = (await api<Approvals>('fin', '/approvals', undefined, backend)).said.approvals;
      expect(waiting).toMatchObject({
        mayDecide: false,
        obstacle: expect.stringContaining('no sealing key') as string,
      });
      expect(
        await api('fin', `/approvals/${waiting?.id}`, { digest: waiting?.digest, approve: true }, backend),
      ).toMatchObject({ status: 409, said: { advice: expect.stringContaining('console of an edge') as string } });
      const { processes } = (await api<Processes>('ops', '/processes')).said;
      const said = JSON.stringify({
        id: waiting?.id,
        digest: waiting?.digest,
        approve: true,
        by: 'eve',
        at: Date.now(),
        facts: {
          issuer: 'omnibus:keys',
          subject: 'fin',
          principal: 'p_of_fin',
          groups: ['finance'],
          actors: [],
          scopes: [],
        },
      });
      const bus = await openNatsBus(
        { servers: gateway.bus as string, clientName: 'eve', inboxPrefix: inboxOf('edge'), connectTimeoutMs: 5_000 },
        () => undefined,
      );
      const answers = new Heard<JsonObject>();
      const asking = processes
        .filter(({ role }) => role === 'session')
        .map(({ process }) =>
          bus.request(
            subjects.adminAsk,
            { about: 'approval-decide', args: { to: process, said, signature: 'x'.repeat(43) } },
            {
              reply: ({ body }) => {
                if (body !== undefined) answers.add(body);
              },
              failed: () => undefined,
            },
          ),
        );
      await answers.until(2);
      expect(answers.values).toMatchObject([{ kind: 'unsigned' }, { kind: 'unsigned' }]);
      for (const each of asking) each.close();
      await bus.drain();
      expect(await api('fin', `/approvals/${waiting?.id}`, { digest: waiting?.digest, approve: false })).toMatchObject({
        status: 200,
      });
      expect(reasonOf(await third)).toBe('approval.refused');
    }
  });

  it('records every approval and refusal', async () => {
    await expect
      .poll(async () => {
        const files = await readdir(join(folder, 'audit'));
        const lines = (await Promise.all(files.map((file) => readFile(join(folder, 'audit', file), 'utf8'))))
          .flatMap((text) => text.trim().split('\n'))
          .map((line) => JSON.parse(line) as JsonObject);
        const names = lines
          .filter((line) => /^(approval|admin\.approvals\.(approve|refuse))/.test(String(line['event.name'])))
          .map(({ 'event.name': name, 'omnibus.outcome': outcome }) =>
            // Acts of administrators have an outcome of their own; the other names say it.
            String(name).startsWith('admin.') ? `${String(name)} ${String(outcome)}` : String(name),
          );
        return Object.fromEntries(
          [...new Set(names)].toSorted().map((name) => [name, names.filter((each) => each === name).length]),
        );
        // Also those that had no effect: about a decided call, another one than the shown one, and a missing one; and over NATS at a process that accepts none.
      })
      .toEqual({
        'admin.approvals.approve denied': shape === 'nats' ? 8 : 7,
        'admin.approvals.approve ok': 2,
        'admin.approvals.refuse ok': shape === 'nats' ? 3 : 2,
        'approval.approved': 4,
        'approval.asked': shape === 'nats' ? 8 : 7,
        'approval.impossible': 2,
        'approval.refused': shape === 'nats' ? 4 : 3,
        'approval.used': 4,
      });
  });

  it('asks an approver in every client that is connected, whichever process holds its session, and takes the first decision', async () => {
    using caller = await RawClient.open(gateway.url, newest, keys.headersOf('ann'));
    const clients = await Promise.all(
      [newest, '2025-06-18', newest, '2025-06-18'].map((revision) => withForms('fin', revision)),
    );
    const heard = await Promise.all(clients.map((client) => client.standing()));
    using hers = await withForms('ann', newest);
    const toHer = await hers.standing();
    const before = calls();
    const answered = caller.callTool('refund', { amount: 7_000 });
    const isForm = ({ method }: Message): boolean => method === 'elicitation/create';
    await Promise.all(heard.map((each) => each.untilSome(isForm)));
    const forms = heard.map(({ values }) => values.find(isForm) as Message);
    for (const { params } of forms) expect(params?.['message']).toContain('arguments: {"amount":7000}');
    expect(calls()).toBe(before);
    const answer = (index: number, content: JsonObject): Promise<Answer> =>
      (clients[index] as RawClient).post({
        jsonrpc: '2.0',
        id: forms[index]?.id,
        result: { action: 'accept', content },
      });
    clients[0]?.[Symbol.dispose](); // It goes away, and leaves the call to the others.
    expect(await answer(1, { decision: 'leave' })).toMatchObject({ status: 202 });
    expect(await answer(2, { decision: 'approve' })).toMatchObject({ status: 202 });
    expect(reasonOf(await answered)).toBe('answered');
    await heard[3]?.untilSome(({ method }) => method === 'notifications/cancelled');
    expect(await answer(3, { decision: 'refuse' })).toMatchObject({ status: 202 });
    expect(calls()).toBe(before + 1);
    expect(toHer.values.filter(isForm)).toEqual([]);
    for (const client of clients) client[Symbol.dispose]();
  });
});
