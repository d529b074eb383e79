/** A question of a server is answered by its user, and the answer is used for that question only, whichever worker receives it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Heard } from '@omnibus/bus/testing';
import type { JsonRpcId } from '@omnibus/protocol';
import { EraServer } from '../matrix/era-server.ts';
import { endNow, startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { metricsOf } from '../support/metrics.ts';
import { end, type RunningProcess } from '../support/processes.ts';
import { RawClient, type Message } from '../support/raw-client.ts';

/** A call with a question to the user. */
interface Asked {
  readonly question: Message;
  readonly heard: Heard<Message>;
  /** The answer to the call. */
  readonly answered: Promise<Message>;
}

describe('questions to clients, with session workers that come and go', () => {
  let era: EraServer;
  let gateway: GatewayUnderTest;

  beforeAll(async () => {
    era = await EraServer.start('2025-11-25');
    gateway = await startGateway('nats', { mcpServers: { era: { url: era.url } } });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('form'));
  });

  afterAll(async () => {
    await endNow(gateway);
    await era[Symbol.asyncDispose]();
  });

  const holders = (): RunningProcess[] =>
    gateway.processes.filter(
      (part) =>
        part !== gateway.edge &&
        part !== gateway.backend &&
        part.child.exitCode === null &&
        part.child.signalCode === null,
    );

  /** A client that answers questions. */
  function openClient(): Promise<RawClient> {
    return RawClient.open(gateway.url, '2025-11-25', {}, { elicitation: { form: {} } });
  }

  async function call(client: RawClient, say: string, id: JsonRpcId): Promise<Asked> {
    const heard = new Heard<Message>();
    void client
      .stream(
        {
          jsonrpc: '2.0',
          id,
          method: 'tools/call',
          params: { name: 'form', arguments: { say }, _meta: { progressToken: say } },
        },
        (message) => Promise.resolve(heard.add(message)),
      )
      .catch(() => undefined);
    const question = await heard.untilSome(({ method }) => method === 'elicitation/create');
    return {
      question,
      heard,
      answered: heard.untilSome((message) => message.id === id && message.method === undefined),
    };
  }

  const answer = (
    client: RawClient,
    { question }: Asked,
    content: string,
  ): Promise<{ readonly status: number; readonly body: string }> =>
    client.post({ jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { answer: content } } });

  const adopted = async (worker: RunningProcess): Promise<number> =>
    (await metricsOf(worker)).get('omnibus_sessions_adopted_total') as number;

  it('the consent of a user is never taken for another action: no question has the id of an earlier one, whichever worker asks', async () => {
    using client = await openClient();
    const first = await call(client, 'newsletter', 'a');
    const [old] = holders() as [RunningProcess];
    const next = await gateway.startPart('session');
    await gateway.lose(old);
    // The next worker goes on with the call, and asks under another id.
    const isQuestion = ({ method }: Message): boolean => method === 'elicitation/create';
    await first.heard.untilSome(() => first.heard.values.filter(isQuestion).length > 1);
    const [, again] = first.heard.values.filter(isQuestion);
    expect(again?.id).not.toBe(first.question.id);
    const second = await call(client, 'delete everything', 'b');
    expect(await adopted(next)).toBeGreaterThan(0);
    // The user agrees to the newsletter only now; the worker that asked is gone, and no other call may get the answer.
    const late = await answer(client, first, 'yes, the newsletter');
    expect([late.status, late.body]).toEqual([410, expect.stringContaining('question.lost')]);
    expect(second.heard.values.some(({ id, method }) => id === 'b' && method === undefined)).toBe(false);
    expect((await answer(client, second, 'no, nothing')).status).toBe(202);
    const said = JSON.stringify((await second.answered).result);
    expect(said).toContain('no, nothing');
    expect(said).not.toContain('newsletter');
    // The question about the newsletter is open, and a worker that leaves would wait for its call.
    await client.delete();
  });

  it("SIGTERM: a user's answer while workers are replaced reaches its call, round after round", async () => {
    const clients = await Promise.all(Array.from({ length: 6 }, () => openClient()));
    for (let round = 0; round < 3; round += 1) {
      const calls = await Promise.all(
        clients.map((client, index) => call(client, `round ${round}, client ${index}`, `${round}-${index}`)),
      );
      const old = holders();
      const next = await gateway.startPart('session');
      const stopped = old.map((worker) => end(worker, 'SIGTERM'));
      // The next worker has all sessions by then; the old one only waits for its calls.
      await expect
        .poll(async () => {
          await Promise.all(clients.map((client) => client.request('ping')));
          return adopted(next);
        })
        .toBeGreaterThanOrEqual(clients.length);
      const statuses = await Promise.all(
        calls.map((asked, index) => answer(clients[index] as RawClient, asked, `answer ${round}-${index}`)),
      );
      expect(statuses.map(({ status }) => status)).toEqual(clients.map(() => 202));
      const results = await Promise.all(calls.map(async ({ answered }) => JSON.stringify((await answered).result)));
      for (const [index, result] of results.entries()) expect(result).toContain(`answer ${round}-${index}`);
      await Promise.all(stopped);
    }
    for (const client of clients) client[Symbol.dispose]();
  });

  it('SIGTERM: a call that the user cancels while its worker stops is cancelled at that worker', async () => {
    using client = await openClient();
    const asked = await call(client, 'cancel me', 'c');
    const old = holders();
    const next = await gateway.startPart('session');
    for (const worker of old) worker.kill('SIGTERM');
    await expect
      .poll(async () => {
        await client.request('ping');
        return adopted(next);
      })
      .toBeGreaterThan(0);
    const cancelled = era.seen.filter(({ method }) => method === 'notifications/cancelled').length;
    await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c' } });
    await expect
      .poll(() => era.seen.filter(({ method }) => method === 'notifications/cancelled').length)
      .toBe(cancelled + 1);
    expect(await asked.heard.untilSome(({ method }) => method === 'notifications/cancelled')).toMatchObject({
      params: { requestId: asked.question.id },
    });
  });

  it('an answer to a question that is unknown or was withdrawn is dropped, and nothing else is affected', async () => {
    using client = await openClient();
    using other = await openClient();
    const asked = await call(client, 'mine', 'm');
    // Another session cannot answer for this one, with any id.
    expect((await answer(other, asked, 'theirs')).status).toBe(202);
    for (const id of [
      1,
      '1',
      0,
      `${JSON.stringify(asked.question.id)}0`,
      'session-AAAAAAAAAAAA-1',
      '*',
      'session-*-1',
    ]) {
      expect([202, 410]).toContain(
        (await client.post({ jsonrpc: '2.0', id, result: { action: 'accept', content: { answer: 'invented' } } }))
          .status,
      );
    }
    expect((await answer(client, asked, 'mine indeed')).status).toBe(202);
    expect((await answer(client, asked, 'twice')).status).toBe(202);
    expect(JSON.stringify((await asked.answered).result)).toContain('mine indeed');
  });
});
