/**
 * Clients with secrets at shared servers, in every isolation mode, era and transport, in schedules that fast-check generates, while processes are ended
 * and the configuration changes. The secret of one client must never reach another, and every answer must go to its question. A failing
 * schedule is printed with its seed and shrunk; `OMNIBUS_ISOLATION_SEED` and `OMNIBUS_ISOLATION_RUNS` choose others.
 *
 * Only the following is shared by design. A server with `isolation: shared` has one connection, and so has a server that asks clients nothing (`auto`) or
 * has no sessions (2026-07-28); a counter of the program or connection (the tool `count`) then counts for all of them. Where callers are known, each has
 * several sessions, and only these share: state that a server keeps for a connection or in a program belongs to one caller. They sign in at two of the
 * servers, whose tokens expire after a second, and each message there must come with a token of its own client's user.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Balancer } from '../support/balancer.ts';
import { signInAt } from '../support/browse.ts';
import { shapesOfLane } from '../support/gateway.ts';
import { Keys } from '../support/keys.ts';
import { byLane } from '../support/lane.ts';
import { RawClient } from '../support/raw-client.ts';
import { asking, plain, type ServerUnderTest } from './actions.ts';
import { Caller, type CallerKind } from './caller.ts';
import { Ground, guarded, servers } from './ground.ts';
import { Guard } from './guard.ts';
import type { Secret } from './markers.ts';
import { disturbances, Site, type Disturbance } from './site.ts';
import type { Credentials } from './wires.ts';

const seed = Number(process.env['OMNIBUS_ISOLATION_SEED'] ?? 20_261_121);
const runs = byLane('OMNIBUS_ISOLATION_RUNS', 1, 20);
/** Shrinking a failing schedule takes at most this long. */
const shrinkMs = 60_000 + runs * 10_000;
/** Bound on attempts of each client after a disturbance has ended. */
const maxAttempts = 100;
const shownProblems = 12;

const kinds: readonly CallerKind[] = [
  { wire: 'http', revision: '2025-11-25', isAskable: true },
  { wire: 'http', revision: '2025-11-25', isAskable: true },
  { wire: 'http', revision: '2025-06-18', isAskable: true },
  { wire: 'http', revision: '2025-11-25', isAskable: false },
  { wire: 'http', revision: '2025-06-18', isAskable: false },
  { wire: 'http', revision: '2026-07-28', isAskable: true },
  { wire: 'http', revision: '2026-07-28', isAskable: true },
  { wire: 'http', revision: '2026-07-28', isAskable: false },
  { wire: 'sse', revision: '2024-11-05', isAskable: true },
  { wire: 'sse', revision: '2024-11-05', isAskable: false },
  { wire: 'ws', revision: '2025-11-25', isAskable: true },
  { wire: 'ws', revision: '2025-11-25', isAskable: false },
  { wire: 'ws', revision: '2026-07-28', isAskable: true },
  { wire: 'stdio', revision: '2025-11-25', isAskable: true },
  { wire: 'stdio', revision: '2026-07-28', isAskable: true },
];

/** Each user has every third client; every schedule begins with new clients of each kind. */
const subjects = ['ann', 'bob', 'cyd'];

const actions = { ...plain, ...asking };
type ActionName = keyof typeof actions;
/** Some actions are chosen more often, since messages beside a call are most likely to be lost. */
const actionNames = [
  ...Object.keys(actions),
  'talk',
  'talk',
  'talk, beside',
  'talk, beside',
  'subscribe',
] as ActionName[];

const step = fc.record({
  client: fc.nat(kinds.length - 1),
  server: fc.nat(servers.length - 1),
  action: fc.constantFrom(...actionNames),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const steps = (maxLength: number): fc.Arbitrary<Step[]> => fc.array(step, { minLength: 1, maxLength, size: 'max' });

/**
 * Whether a question may be refused because it cannot be attributed. That is allowed only where sessions share a connection; where the question is not
 * sent on the stream of its call; or where a request is known only by its user, and the server, which does not say for which request it asks, served
 * another request before. The refusal then must give this reason. A shared connection has no roots, and one that is shared by the sessions of a known
 * caller has no roots of one session.
 */
function mayBeRefused(
  { kind }: Caller,
  { isolation, transport }: ServerUnderTest,
  action: ActionName,
  refusal: string,
): boolean {
  if (!(action in asking)) return false;
  const isOneOfSeveral =
    kind.wire === 'http' &&
    kind.revision === '2026-07-28' &&
    transport !== 'http' &&
    /nothing tells|input\.unattributed/.test(refusal);
  const isCallers = kind.subject !== undefined && isolation === 'principal' && transport !== 'http';
  return (
    !kind.isAskable ||
    isOneOfSeveral ||
    action.endsWith('beside') ||
    isCallers ||
    (isolation === 'shared' && (transport !== 'http' || action === 'roots'))
  );
}

describe.each(
  shapesOfLane.flatMap(
    (shape) =>
      [
        { shape, callers: 'anonymous' },
        { shape, callers: 'known' },
      ] as const,
  ),
)('clients with secrets, $shape, $callers', ({ shape, callers }) => {
  const everybody = new Map<Secret, Caller>();
  const present: Caller[] = [];
  const endings = new Map<string, number>();
  /** The problem of the schedule as it was generated, since a shrunk one may show less. */
  let first: object | undefined;
  let keys: Keys;
  let rounds = 0;
  let ground: Ground;
  let site: Site;
  let front: Balancer;

  beforeAll(async () => {
    keys = await Keys.make(...subjects);
    front = await Balancer.start();
    ground = await Ground.start(
      callers === 'known' ? { auth: keys.auth, publicUrl: front.url } : {},
      callers === 'known',
    );
    site = await Site.start(shape, ground.config);
    front.edges = [site.url];
    if (callers === 'known') for (const subject of subjects) await signIn(subject);
    // A worker reads the lists of a user after the sign-in: before that, it requests the sign-in.
    for (const subject of callers === 'known' ? subjects : [undefined]) await site.untilThere(credentialsOf(subject));
  });

  afterAll(async () => {
    await Promise.all(present.map((caller) => caller.close()));
    await site[Symbol.asyncDispose]();
    await ground[Symbol.asyncDispose]();
    await keys[Symbol.asyncDispose]();
    await front[Symbol.asyncDispose]();
    process.stdout.write(
      `\nisolation, ${shape}, ${callers}, seed ${seed}: ${everybody.size} clients, ${[...endings]
        .toSorted(([one], [two]) => one.localeCompare(two))
        .map(([what, count]) => `${what} ${count}`)
        .join(', ')}\n`,
    );
    if (first !== undefined) process.stdout.write(`${JSON.stringify(first, undefined, 2)}\n`);
  });

  function credentialsOf(subject: string | undefined): Credentials {
    return subject === undefined ? {} : keys.headersOf(subject);
  }

  /** Signs a user in at the servers that want it. */
  async function signIn(subject: string): Promise<void> {
    using client = await RawClient.open(site.url, '2025-11-25', credentialsOf(subject));
    for (const server of guarded) {
      const said = async (args: object): Promise<string> =>
        JSON.stringify((await client.callTool(`${server}__connect`, { ...args })).last.result);
      const address = /http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{22}/.exec(await said({}))?.[0] ?? '';
      const code = /Your code: ([A-Z0-9-]{9})/.exec((await signInAt(address, Guard.signsInAs(subject))).text)?.[1];
      expect(await said({ code })).toContain('You are signed in');
    }
  }

  /** Replaces all clients by new ones with new secrets, except programs, which take long to start. */
  async function newcomers(): Promise<void> {
    rounds += 1;
    await Promise.all(
      kinds.map(async (kind, index) => {
        const old = present[index];
        if (old !== undefined && kind.wire === 'stdio' && !old.isBroken) return;
        await old?.close();
        const subject = callers === 'known' ? subjects[(index + rounds) % subjects.length] : undefined;
        const caller = await Caller.open(
          { ...kind, ...(subject === undefined ? {} : { subject }) },
          site.url,
          credentialsOf(subject),
        );
        everybody.set(caller.secret, caller);
        present[index] = caller;
      }),
    );
  }

  /** @returns the problem of the way in which it ended. */
  async function perform(
    { client, server: index, action }: Step,
    disturbance: Disturbance | undefined,
  ): Promise<string | undefined> {
    const caller = present[client] as Caller;
    const server = servers[index] as ServerUnderTest;
    const ending = await actions[action](caller, server).catch((error: unknown) => `wrong: ${String(error)}` as const);
    const word = ending.replace(/mk-[0-9a-f-]+/g, '').slice(0, 60);
    endings.set(word, (endings.get(word) ?? 0) + 1);
    if (ending === 'done' || (ending.startsWith('refused') && mayBeRefused(caller, server, action, ending)))
      return undefined;
    // A client whose call was reported as interrupted, or whose connection ended with the process, was informed correctly.
    if (disturbance !== undefined && !/^wrong|no answer|session\./.test(ending)) return undefined;
    return `${action} of ${caller.name} at ${server.name}: ${ending}`;
  }

  /** Checks that every client that is still connected can continue. */
  async function recover(): Promise<(string | undefined)[]> {
    return Promise.all(
      present
        .filter((caller) => !caller.isBroken)
        .map(async (caller) => {
          let ending = '';
          for (let attempt = 0; attempt < maxAttempts && !caller.isBroken; attempt += 1) {
            ending = await plain
              .echo(caller, servers[attempt % servers.length] as ServerUnderTest)
              .catch((error: unknown) => String(error));
            if (ending === 'done') return undefined;
          }
          return caller.isBroken ? undefined : `${caller.name} does not recover: ${ending}`;
        }),
    );
  }

  async function check(schedule: readonly Step[], disturbance: Disturbance | undefined, at: number): Promise<void> {
    await newcomers();
    const early = schedule.slice(0, at).map((each) => perform(each, disturbance));
    const over = disturbance === undefined ? Promise.resolve() : site.suffer(disturbance, () => ground.nextConfig());
    const late = schedule.slice(at).map((each) => perform(each, disturbance));
    const ended = await Promise.all([...early, ...late]);
    await over;
    if (disturbance !== undefined) ended.push(...(await recover()));
    const failed = ended.filter((failure) => failure !== undefined).slice(0, shownProblems);
    const crossed = [
      ...present.flatMap((caller) => caller.foreign(everybody)),
      ...(await ground.problems(everybody)),
    ].slice(0, shownProblems);
    if (crossed.length + failed.length > 0) first ??= { disturbance, crossed, failed };
    expect({ crossed, failed }).toEqual({ crossed: [], failed: [] });
  }

  it(
    'no byte of one reaches another, and permitted requests succeed for all',
    { timeout: shrinkMs + 180_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(steps(160), (schedule) => check(schedule, undefined, schedule.length)),
        { seed, numRuns: runs, interruptAfterTimeLimit: shrinkMs },
      );
    },
  );

  it(
    'nor while processes are ended under them and the configuration changes',
    { timeout: shrinkMs + 180_000 },
    async () => {
      // Every run has a takeover and a reload, even if none is drawn: in the gate of known callers and of anonymous ones, else of both.
      const always =
        runs > 1
          ? (['SIGKILL session', 'reload'] as const)
          : ([callers === 'known' ? 'SIGKILL session' : 'reload'] as const);
      const certain = always.filter((each) => (disturbances[shape] as readonly Disturbance[]).includes(each));
      const examples = fc
        .sample(steps(80), { seed, numRuns: certain.length })
        .map((schedule, index): [Step[], Disturbance, number] => [
          schedule,
          certain[index] as Disturbance,
          schedule.length / 2,
        ]);
      await fc.assert(
        fc.asyncProperty(steps(80), fc.constantFrom<Disturbance[]>(...disturbances[shape]), fc.nat(80), check),
        {
          seed,
          examples,
          // The examples count. In one process no session worker can be killed, so a single run for known callers has none.
          numRuns: runs > 1 ? Math.ceil(runs / 2) + 1 : Math.max(1, certain.length),
          interruptAfterTimeLimit: shrinkMs,
        },
      );
    },
  );
});
