/** Users of the chaos run, who sign in at a server with data of their own on every request, and the faults of that server's issuer. */
import { setTimeout as wait } from 'node:timers/promises';
import { signInAt } from '../support/browse.ts';
import { ModernClient } from '../support/modern-client.ts';
import type { PersonalServer } from '../support/personal-server.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';
import { answerMs, broken, opened, pause, type Run, type Worker } from './clients.ts';
import type { Fault } from './faults.ts';

/** The users, each with an API key of this subject. */
export const members = ['ann', 'ben'] as const;
type Member = (typeof members)[number];

const downMs = 2_000;
const slowMs = 1_500;

export interface Membership {
  readonly server: PersonalServer;
  /** Headers of requests of that user. */
  readonly headersOf: (user: Member) => Readonly<Record<string, string>>;
  /** The sign-ins of each user. */
  readonly signIns: Map<Member, number>;
  /** The last code of a user, which may not have arrived. */
  readonly codes: Map<Member, string>;
}

type Ask = (tool: string, args: Readonly<Record<string, string>>, limit: AbortSignal) => Promise<Answer>;

/** A client of a user. */
interface Seat {
  readonly membership: Membership;
  readonly user: Member;
  readonly name: string;
  readonly ask: Ask;
  /** Number of requests for a code that no page has shown. */
  unseen: number;
}

/** Bound on requests before it abandons the sign-in: the page may be on its way, to another client of the same user too. */
const patience = 100;

/** Clients of a user that know of no sign-ins: they get the address in the text of an answer, and send the code of the page in a call. */
export function membersOf(membership: Membership): readonly Worker[] {
  return members.flatMap((user) => {
    const headers = membership.headersOf(user);
    const session = async (run: Run): Promise<Ask> => {
      const client = await opened(run, () => RawClient.open(run.url, undefined, headers));
      return (name, args, limit) =>
        client.post(
          { jsonrpc: '2.0', id: args['mark'] ?? 'connect', method: 'tools/call', params: { name, arguments: args } },
          {},
          limit,
        );
    };
    const modern = (run: Run): Promise<Ask> => {
      const client = new ModernClient(run.url, {}, headers);
      return Promise.resolve((name, args, limit) => client.request('tools/call', { name, arguments: args }, {}, limit));
    };
    return [session, modern].map(
      (open): Worker =>
        async (run, name) =>
          work(run, { membership, user, name: `${user}-${name}`, ask: await open(run), unseen: 0 }),
    );
  });
}

/** Calls until the run is over, and then until one call has succeeded. */
async function work(run: Run, seat: Seat): Promise<void> {
  let giveUpAt = Infinity;
  let told: string | undefined;
  for (let count = 0, isLast = false; !isLast; count += 1) {
    const tag = `${seat.name}-${count}`;
    const since = performance.now();
    try {
      told = await call(run, seat, tag);
      isLast = run.over.aborted && told === undefined;
    } catch (error) {
      broken(run, tag, since, error);
    }
    if (run.over.aborted) giveUpAt = Math.min(giveUpAt, performance.now() + answerMs);
    if (performance.now() > giveUpAt) {
      run.tally.giveUp(`${tag} (the last one: ${told ?? 'no answer'})`, since);
      isLast = true;
    }
    await pause(run);
  }
}

/** @returns the text of the call, if it has not succeeded. */
async function call(run: Run, seat: Seat, tag: string): Promise<string | undefined> {
  const { user, name, ask } = seat;
  const since = performance.now();
  const { status, last } = await ask('mine__whose', { mark: tag, tag }, AbortSignal.timeout(answerMs));
  const said = (last.result?.['content'] as readonly { readonly text: string }[] | undefined)?.[0]?.text;
  if (said === `${user} ${tag}`) {
    run.tally.seen.add(tag);
    run.tally.success(name);
    return undefined;
  }
  const address = /http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{22}/.exec(JSON.stringify(last))?.[0];
  if (status === 404 && last.error?.code !== -32_602) run.tally.lost.push(tag);
  else if (address !== undefined) await signIn(run, seat, address);
  else if (said?.startsWith('Somebody has signed in') === true) await sayCode(seat);
  else if (last.error !== undefined) run.tally.interrupt(last.error.data?.['reason'] ?? last.error.message, tag, since);
  else if (said?.startsWith('You are signed in') !== true) run.tally.wrong.push(`${tag}: ${JSON.stringify(last)}`);
  return JSON.stringify(last);
}

/** A sign-in that a fault interrupts before its end is begun again by the next call. */
async function signIn(run: Run, seat: Seat, address: string): Promise<void> {
  const { membership, user } = seat;
  const giveUpAt = performance.now() + answerMs;
  const page = await signInAt(address, membership.server.signsInAs(user), async () => {
    await pause(run);
    return performance.now() < giveUpAt;
  });
  const code = /Your code: ([A-Z0-9-]{9})/.exec(page.text)?.[1];
  if (code === undefined) return;
  membership.codes.set(user, code);
  await sayCode(seat);
}

/** Another client of the user may have been told that a code is waited for. */
async function sayCode(seat: Seat): Promise<void> {
  const {
    membership: { codes, signIns },
    user,
    ask,
  } = seat;
  const shown = codes.get(user);
  seat.unseen = shown === undefined ? seat.unseen + 1 : 0;
  const code = shown ?? (seat.unseen > patience ? 'none' : undefined);
  if (code === undefined) return;
  const { last } = await ask('mine__connect', { code }, AbortSignal.timeout(answerMs));
  if (!JSON.stringify(last).includes('You are signed in')) return;
  codes.delete(user);
  signIns.set(user, (signIns.get(user) ?? 0) + 1);
}

/** What happens to the tokens of the users, and to their issuer. */
export function issuerFaults({ server }: Membership): readonly Fault[] {
  const expire = (): void => {
    for (const user of members) server.expire(user);
  };
  return [
    { name: 'tokens expire', strike: () => Promise.resolve(expire()) },
    {
      name: `tokens expire while their issuer is down for ${downMs / 1_000} s`,
      async strike() {
        server.isDown = true;
        expire();
        await wait(downMs);
        server.isDown = false;
      },
    },
    {
      name: 'tokens expire while their issuer is slow, and a backend is killed',
      kills: ['backend'],
      // Another backend worker refreshes a token once the killed one has not done so for longer than a call may take.
      isSlow: true,
      async strike(fleet) {
        server.meanwhile = () => wait(slowMs);
        expire();
        await wait(slowMs / 2);
        await fleet.replace('backend', 'SIGKILL');
        server.meanwhile = () => Promise.resolve();
      },
    },
    {
      name: 'a user revokes all tokens',
      strike: (_fleet, pick) => Promise.resolve(server.revoke(members[pick % members.length] as Member)),
    },
  ];
}
