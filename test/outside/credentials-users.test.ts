/** Several users of one gateway sign in for servers with separate data for each, and no call uses another user's identity. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Balancer } from '../support/balancer.ts';
import { signInAt } from '../support/browse.ts';
import { shapesOfLane, startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { Keys } from '../support/keys.ts';
import { ModernClient, required } from '../support/modern-client.ts';
import { PersonalServer } from '../support/personal-server.ts';
import { saidHere } from '../support/command-here.ts';
import { omnibusProgram, startProcess } from '../support/processes.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';

const users = ['ann', 'ben'] as const;
type User = (typeof users)[number];

const addressIn = (answer: Answer): string =>
  /http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{22}/.exec(JSON.stringify(answer.last))?.[0] ?? '';
const codeIn = (page: { readonly text: string }): string => /Your code: ([A-Z0-9-]{9})/.exec(page.text)?.[1] ?? '';
const textOf = ({ last }: Answer): string =>
  (last.result?.['content'] as readonly { readonly text: string }[] | undefined)?.[0]?.text ?? JSON.stringify(last);

/** Asks again and again, several times at once, until the test ends it, and once more after that. */
function over(ask: () => Promise<Answer>): { end(): Promise<readonly Answer[]> } {
  let isOver = false;
  const asking = (async () => {
    const answers: Answer[] = [];
    for (let isLast = false; !isLast;) {
      isLast = isOver;
      answers.push(...(await Promise.all(Array.from({ length: 8 }, ask))));
    }
    return answers;
  })();
  return {
    end: () => {
      isOver = true;
      return asking;
    },
  };
}

describe.each(shapesOfLane)('%s,', (shape) => {
  const stack = new AsyncDisposableStack();
  let servers: Record<'old' | 'new', PersonalServer>;
  let gateway: GatewayUnderTest;
  let keys: Keys;
  const clients = new Map<User, { readonly old: RawClient; readonly new: ModernClient }>();
  const of = (user: User): { readonly old: RawClient; readonly new: ModernClient } =>
    clients.get(user) as { readonly old: RawClient; readonly new: ModernClient };

  beforeAll(async () => {
    servers = {
      old: stack.use(await PersonalServer.start()),
      new: stack.use(await PersonalServer.start({ isModern: true })),
    };
    const front = stack.use(await Balancer.start());
    keys = stack.use(await Keys.make(...users, 'eve'));
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-vault-'));
    stack.defer(() => rm(folder, { recursive: true }));
    const restart = { minDelay: '50ms', maxDelay: '200ms' };
    gateway = stack.use(
      await startGateway(shape, {
        publicUrl: front.url,
        auth: keys.auth,
        vault: { file: join(folder, 'vault.json'), keys: [`a:${Buffer.alloc(32, 7).toString('base64')}`] },
        mcpServers: {
          old: { url: servers.old.url, restart, validation: 'enforce', credentials: { kind: 'oauth' } },
          new: { url: servers.new.url, restart, validation: 'enforce', credentials: { kind: 'oauth' } },
        },
      }),
    );
    front.edges = [gateway.url];
    for (const user of users) {
      const headers = keys.headersOf(user);
      clients.set(user, {
        old: stack.use(await RawClient.open(gateway.url, '2025-11-25', headers)),
        new: stack.use(new ModernClient(gateway.url, { elicitation: { form: {}, url: {} } }, headers)),
      });
    }
  });
  afterAll(() => stack.disposeAsync());

  /** Signs in as a client without URL elicitation does: with the address that the tool `connect` returns. */
  async function connect(user: User, server: 'old' | 'new'): Promise<void> {
    const { old } = of(user);
    const address = addressIn(await old.callTool(`${server}__connect`));
    const code = codeIn(await signInAt(address, servers[server].signsInAs(user)));
    expect(code).not.toBe('');
    expect(textOf(await old.callTool(`${server}__connect`, { code }))).toContain('You are signed in');
  }

  it('before a user has signed in, each server shows the address of the sign-in, and nothing else', async () => {
    expect((await of('ann').old.untilTools((names) => names.length === 2)).toSorted()).toEqual([
      'new__connect',
      'old__connect',
    ]);
  });

  it('a sign-in at an address of another caller gives no access until that caller enters the code', async () => {
    const { old } = of('ben');
    const address = addressIn(await old.callTool('old__connect'));
    // Ann opens the address that Ben has sent her, and signs in.
    expect(codeIn(await signInAt(address, servers.old.signsInAs('ann')))).not.toBe('');
    expect(textOf(await old.callTool('old__connect'))).toContain('say the code that the page showed');
    for (const guess of ['BBBB-BBBB', 'CCCC-CCCC', 'DDDD-DDDD', 'FFFF-FFFF'])
      expect(textOf(await old.callTool('old__connect', { code: guess }))).toContain('not the code');
    // The fifth attempt is the last one, and the tokens of Ann are removed.
    expect(textOf(await old.callTool('old__connect', { code: 'GGGG-GGGG' }))).toContain(
      'No sign-in to "old" waits for a code',
    );
    expect(addressIn(await old.callTool('old__connect'))).not.toBe('');
    expect(servers.old.executed.size).toBe(0);
  });

  it('a user who has not seen the code begins anew, and what the first sign-in has given is revoked', async () => {
    const { old } = of('ann');
    const first = addressIn(await old.callTool('old__connect'));
    await signInAt(first, servers.old.signsInAs('ann'));
    const said = await old.callTool('old__connect');
    expect([textOf(said).includes('{ "code": "none" }'), addressIn(said)]).toEqual([true, '']);
    const second = addressIn(await old.callTool('old__connect', { code: 'none' }));
    expect([second === '', second === first]).toEqual([false, false]);
    await expect.poll(() => servers.old.revoked.length).toBe(1);
    servers.old.revoked.length = 0;
    // A client that shows forms asks for it there.
    const asks = stack.use(
      new ModernClient(gateway.url, { elicitation: { form: {}, url: {} } }, keys.headersOf('ann')),
    );
    await signInAt(second, servers.old.signsInAs('ann'));
    const asked = required(await asks.call('old__connect'));
    const [[key, { params }]] = Object.entries(asked.requests) as unknown as [
      [string, { readonly params: { readonly mode: string } }],
    ];
    expect(params.mode).toBe('form');
    const ended = await asks.call('old__connect', {
      requestState: asked.requestState,
      inputResponses: { [key]: { action: 'accept', content: { code: 'None' } } },
    });
    expect(ended.last.error?.message).toContain('is given up. Ask again for another address');
    await expect.poll(() => servers.old.revoked.length).toBe(1);
    servers.old.revoked.length = 0;
    expect(addressIn(await old.callTool('old__connect'))).not.toBe('');
  });

  it("a user who has signed in sees the server's tools, while another who has not does not", async () => {
    await connect('ann', 'old');
    expect((await of('ann').old.untilTools((names) => names.includes('old__whose'))).toSorted()).toEqual([
      'new__connect',
      'old__only_ann',
      'old__whose',
    ]);
    expect((await of('ben').old.toolNames()).toSorted()).toEqual(['new__connect', 'old__connect']);
    await connect('ben', 'old');
    expect((await of('ben').old.untilTools((names) => names.includes('old__whose'))).toSorted()).toEqual([
      'new__connect',
      'old__only_ben',
      'old__whose',
    ]);
    expect((await of('ann').old.toolNames()).toSorted()).toEqual(['new__connect', 'old__only_ann', 'old__whose']);
  });

  it('a client of 2026-07-28 is sent to the address, asked for the code, and given the answer of its call', async () => {
    for (const user of users) {
      const client = of(user).new;
      const sent = required(await client.call('new__connect'));
      const [[key, { params }]] = Object.entries(sent.requests) as unknown as [
        [string, { readonly params: { readonly mode: string; readonly url: string } }],
      ];
      expect(params.mode).toBe('url');
      const code = codeIn(await signInAt(params.url, servers.new.signsInAs(user)));
      const asked = required(
        await client.call('new__connect', {
          requestState: sent.requestState,
          inputResponses: { [key]: { action: 'accept' } },
        }),
      );
      const [[form, question]] = Object.entries(asked.requests) as unknown as [
        [string, { readonly params: { readonly mode: string } }],
      ];
      expect(question.params.mode).toBe('form');
      await client.call('new__connect', {
        requestState: asked.requestState,
        inputResponses: { [form]: { action: 'accept', content: { code } } },
      });
      await expect
        .poll(async () => textOf(await client.call('new__whose', { arguments: { mark: `first of ${user}` } })))
        .toBe(`${user} first of ${user}`);
    }
  });

  it('many calls of two users at the same time are each made with the credentials of their user, for every client and server, even if tokens expire meanwhile', async () => {
    const calls: Promise<void>[] = [];
    let count = 0;
    for (let round = 0; round < 12; round += 1) {
      if (round === 6) for (const server of Object.values(servers)) server.expire('ann');
      for (const user of users) {
        for (const server of ['old', 'new'] as const) {
          for (const client of ['old', 'new'] as const) {
            const mark = `${user}-${(count += 1)}`;
            const name = `${server}__whose`;
            const answer =
              client === 'old'
                ? of(user).old.callTool(name, { mark })
                : of(user).new.call(name, { arguments: { mark } });
            calls.push(answer.then((said) => expect(textOf(said)).toBe(`${user} ${mark}`)));
          }
        }
      }
      if (round % 3 === 2) await Promise.all(calls);
    }
    await Promise.all(calls);
    const all = [...servers.old.executed, ...servers.new.executed].filter(([mark]) => /^(ann|ben)-/.test(mark));
    expect(all).toHaveLength(count);
    expect(all.filter(([, times]) => times !== 1)).toEqual([]);
    expect([servers.old.violations, servers.new.violations]).toEqual([[], []]);
    // Once for each server, independent of user and process.
    expect([servers.old.refreshes, servers.new.refreshes]).toEqual([1, 1]);
  });

  it('a user who has revoked all tokens at a server is asked to sign in again, and the other user is not affected', async () => {
    servers.old.revoke('ann');
    // None of them counts as a fault of the server, which would end the user's other requests.
    const refused = await Promise.all(Array.from({ length: 20 }, () => of('ann').old.callTool('old__whose')));
    expect(refused.filter((answer) => addressIn(answer) === '')).toEqual([]);
    expect(textOf(await of('ben').old.callTool('old__whose', { mark: 'still' }))).toBe('ben still');
    expect(await of('ann').old.untilTools((names) => names.includes('old__connect'))).toContain('old__whose');
  });

  /** The words of a command as that user. */
  const as = (user: User, words: readonly string[]): readonly string[] => [
    ...words,
    '--url',
    gateway.url,
    '--header',
    `Authorization: ${keys.headersOf(user)['authorization'] as string}`,
  ];

  async function omnibus(
    user: User,
    ...words: readonly string[]
  ): Promise<{ readonly code: unknown; readonly said: { readonly connections?: readonly object[] } }> {
    const { status, output } = await saidHere(as(user, [...words, '--json']));
    return { code: status, said: JSON.parse(output) as never };
  }

  it("omnibus connections shows a user's connections, and revokes one here and at the issuer", async () => {
    const listed = await omnibus('ben', 'connections', 'list');
    expect([listed.code, listed.said.connections]).toEqual([
      0,
      [
        expect.objectContaining({ server: 'new', state: 'connected' }),
        expect.objectContaining({ server: 'old', state: 'connected', owner: expect.stringContaining('ben') as string }),
      ],
    ]);
    const meanwhile = over(() => of('ben').old.callTool('old__whose', { mark: 'meanwhile' }));
    expect(await omnibus('ben', 'connections', 'revoke', 'old')).toMatchObject({
      code: 0,
      said: { server: 'old', isRevokedAtIssuer: true },
    });
    const answers = await meanwhile.end();
    expect(answers.filter((answer) => addressIn(answer) === '' && textOf(answer) !== 'ben meanwhile')).toEqual([]);
    expect(addressIn(answers.at(-1) as Answer)).not.toBe('');
    expect(servers.old.revoked).toHaveLength(1);
    expect((await omnibus('ben', 'connections', 'revoke', 'old')).code).toBe(5);
    expect((await omnibus('ben', 'connections', 'list')).said.connections).toHaveLength(1);
    expect(addressIn(await of('ben').old.callTool('old__whose'))).not.toBe('');
    const admin = await gateway.admin(gateway.edge);
    expect(
      (
        (await (await fetch(`http://${admin}/api/v1/connections`)).json()) as {
          readonly connections: readonly object[];
        }
      ).connections,
    ).toHaveLength(3);
  });

  it('omnibus sign-in prints the address, waits for the sign-in, and takes the code that the page has shown', async () => {
    const waiting = startProcess('node', [
      omnibusProgram,
      ...as('ben', ['sign-in', 'old', '--no-input', '--no-browser']),
    ]);
    const [, address = ''] = await waiting.line(/(http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{22})/);
    const code = codeIn(await signInAt(address, servers.old.signsInAs('ben')));
    expect((await once(waiting.child, 'close'))[0]).toBe(77);
    expect(await omnibus('ben', 'sign-in', 'old', '--answer', `code=${code}`)).toEqual({
      code: 0,
      said: { server: 'old', isSignedIn: true, wasSignedIn: false },
    });
    expect(await omnibus('ben', 'sign-in', 'old')).toEqual({
      code: 0,
      said: { server: 'old', isSignedIn: true, wasSignedIn: true },
    });
    expect(textOf(await of('ben').old.callTool('old__whose', { mark: 'again' }))).toBe('ben again');
  });

  it('status and metrics say how many users have to sign in, and nothing that was written contains a secret', async () => {
    const admin = await gateway.admin(gateway.backend);
    const read = (path: string): Promise<string> => fetch(`http://${admin}/${path}`).then((said) => said.text());
    const [status, metrics] = await Promise.all([read('status'), read('metrics')]);
    expect(metrics).toMatch(/omnibus_sign_ins_wanted\{server="old"\} 1/);
    expect((JSON.parse(status) as { readonly servers: readonly object[] }).servers).toContainEqual(
      expect.objectContaining({ server: 'old', status: 'up', wantsSignIn: 1 }),
    );
    // A server that refuses requests without a sign-in is not down.
    expect(metrics).toMatch(/omnibus_upstream_state\{server="old",state="(?:sign_in|ready)"\} 1/);
    const { servers: rows } = JSON.parse(await read('api/v1/servers')) as { readonly servers: readonly object[] };
    expect(rows).toContainEqual(expect.objectContaining({ name: 'old', state: 'up', signIns: 1 }));
    const { findings } = JSON.parse(await read('api/v1/overview')) as {
      readonly findings: readonly { readonly id: string }[];
    };
    expect(findings.filter(({ id }) => id.startsWith('down'))).toEqual([]);
    const written = [...gateway.processes.map((each) => each.output()), status, metrics].join('\n');
    const secrets = Object.values(servers).flatMap((server) =>
      server.secrets.filter((each) => !each.startsWith('session')),
    );
    expect(secrets.length).toBeGreaterThan(12);
    expect(secrets.filter((each) => written.includes(each))).toEqual([]);
  });

  if (shape === 'nats')
    it(
      "while a backend worker is killed, and NATS while tokens are refreshed, nobody gets what is another's, nothing is done twice, and nobody has to sign in again",
      { timeout: 180_000 },
      async () => {
        await connect('ann', 'old');
        await gateway.startPart('backend');
        const done = new Map([...servers.old.executed, ...servers.new.executed]);
        const over = new AbortController();
        let answered = 0;
        const wrong: string[] = [];
        const work = async (user: User, server: 'old' | 'new', client: 'old' | 'new'): Promise<void> => {
          for (let count = 0; !over.signal.aborted; count += 1) {
            const mark = `storm-${user}-${server}-${client}-${count}`;
            const name = `${server}__whose`;
            const said = await (
              client === 'old'
                ? of(user).old.callTool(name, { mark })
                : of(user).new.call(name, { arguments: { mark } })
            ).catch(() => undefined);
            if (said === undefined) await new Promise(setImmediate); // The edge is not reached now.
            const { result } = said?.last ?? {};
            // Errors say what became of the call; an answer is the user's own.
            if (result === undefined) continue;
            const words = textOf(said as Answer);
            // A backend worker that has just started does not know the user's tools yet, and may say that the tool was not called.
            const isRefused = words.includes('The tool was not called') && !servers[server].executed.has(mark);
            if (isRefused) continue;
            if (result['isError'] === true || words !== `${user} ${mark}`) wrong.push(JSON.stringify(result));
            else answered += 1;
          }
        };
        const working = users.flatMap((user) =>
          (['old', 'new'] as const).flatMap((server) =>
            (['old', 'new'] as const).map((client) => work(user, server, client)),
          ),
        );
        try {
          const until = (more: number): Promise<void> => expect.poll(() => answered).toBeGreaterThan(more);
          await until(20);
          const ended = once(gateway.backend.child, 'exit');
          gateway.backend.kill('SIGKILL');
          await ended;
          await until(answered + 20);
          for (const server of Object.values(servers)) {
            let hasArrived = false;
            const answer = Promise.withResolvers<void>();
            server.meanwhile = () => {
              hasArrived = true;
              return answer.promise;
            };
            server.expire('ann');
            await expect.poll(() => hasArrived).toBe(true);
            const restarted = gateway.restartBus();
            answer.resolve();
            await restarted;
            await until(answered + 20);
          }
        } finally {
          over.abort();
          await Promise.all(working);
        }
        expect(wrong).toEqual([]);
        for (const user of users)
          for (const server of ['old', 'new'] as const)
            await expect
              .poll(async () => textOf(await of(user).old.callTool(`${server}__whose`, { mark: 'after' })))
              .toBe(`${user} after`);
        const twice = [...servers.old.executed, ...servers.new.executed].filter(
          ([mark, times]) => mark.startsWith('storm') && times > 1 && !done.has(mark),
        );
        expect(twice).toEqual([]);
        expect([servers.old.violations, servers.new.violations]).toEqual([[], []]);
      },
    );
});
