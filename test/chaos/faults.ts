/** All faults of the chaos run. Each includes its repair. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Killed } from './blame.ts';
import { roles, type Fleet, type Role } from './fleet.ts';

export interface Fault {
  readonly name: string;
  /** The parts that it kills with the calls that they hold. */
  readonly kills?: readonly Killed[];
  /** Whether calls may reach their time limit. */
  readonly isSlow?: boolean;
  /** @param pick a number that chooses between alternatives. */
  readonly strike: (fleet: Fleet, pick: number) => Promise<void>;
}

/** One duration that is too short to be noticed, and a longer one. */
const cutsMs = [1_500, 8_000] as const;
const pauseMs = 3_000;
const downMs = 1_500;
const badMs = 2_000;
const fullMs = 1_500;
/** Number of clock jumps, forward and back. */
const jumps = 3;
/** Number of times that connections break, one after the other. */
const breaks = 3;
/** Durations for which a process does not run: unnoticed, noticed, and longer than a call may take. */
const frozenMs = { short: 1_000, noticed: 6_000, long: 20_000 };
/** Milliseconds from the end of a worker until others take over from it. */
const takeoverMs = 150;

export const faults: readonly Fault[] = [
  ...roles.flatMap((role): Fault[] => [
    {
      name: `SIGKILL ${role}`,
      kills: role === 'session' ? [] : [role],
      strike: (fleet) => fleet.replace(role, 'SIGKILL'),
    },
    { name: `SIGTERM ${role}`, strike: (fleet) => fleet.replace(role, 'SIGTERM') },
    ...cutsMs.map((ms): Fault => ({
      name: `network of ${role} cut for ${ms / 1_000} s`,
      strike: (fleet, pick) => cut(fleet, role, pick, ms),
    })),
    {
      name: `${role} stopped for ${pauseMs / 1_000} s`,
      strike: (fleet, pick) => stop(fleet, role, pick, pauseMs),
    },
    {
      name: `connections of ${role} to NATS broken, with what is on its way`,
      async strike(fleet, pick) {
        for (let time = 0; time < breaks; time += 1) {
          fleet.part(role, pick).link.sever();
          await wait(300);
        }
      },
    },
    {
      name: `clock of ${role} jumps`,
      async strike(fleet, pick) {
        for (let jump = 0; jump < jumps; jump += 1) {
          fleet.part(role, pick).process.kill('SIGUSR2');
          await wait(300);
        }
      },
    },
  ]),
  ...[0, 1, 2].map((index): Fault => ({
    name: `NATS node ${index} lost`,
    async strike(fleet) {
      const node = fleet.node(index);
      await node.kill();
      await wait(downMs);
      await node.start();
    },
  })),
  {
    name: 'a NATS node comes back without its store',
    async strike(fleet, pick) {
      const node = fleet.node(pick);
      await node.kill(true);
      await wait(downMs);
      await node.start();
    },
  },
  {
    name: 'NATS comes back without its store',
    // Calls have ten seconds, and a node that starts on a busy machine takes some of them.
    isSlow: true,
    async strike(fleet) {
      const { nodes } = fleet.cluster;
      const stored = await fleet.stored();
      await Promise.all(nodes.map((node) => node.kill(true)));
      await wait(downMs);
      await Promise.all(nodes.map((node) => node.start()));
      await fleet.ready();
      await fleet.restored(stored);
    },
  },
  {
    name: 'SIGKILL session and backend',
    kills: ['backend'],
    strike: async (fleet) => {
      await Promise.all([fleet.replace('session', 'SIGKILL'), fleet.replace('backend', 'SIGKILL')]);
    },
  },
  {
    name: 'SIGKILL session while a NATS node is down',
    async strike(fleet, pick) {
      const node = fleet.node(pick);
      await node.kill();
      await fleet.replace('session', 'SIGKILL');
      await node.start();
    },
  },
  { name: 'JetStream full', strike: fill },
  {
    name: `a backend that reaches no server, for ${badMs / 1_000} s`,
    strike: (fleet) => fleet.besideBadBackend(badMs),
  },
  ...['up', 'files'].map((server): Fault => ({
    name: `"${server}" is configured anew`,
    strike: (fleet) => fleet.reload(server),
  })),
];

/** Faults of the long lane only, which take long. */
export const longFaults: readonly Fault[] = [
  ...roles.flatMap((role): Fault[] => [
    ...[frozenMs.short, frozenMs.noticed].map((ms): Fault => ({
      name: `${role} stopped for ${ms / 1_000} s`,
      strike: (fleet, pick) => stop(fleet, role, pick, ms),
    })),
    {
      name: `${role} stopped for ${frozenMs.long / 1_000} s`,
      // A backend that does not run for longer than a call may take counts as dead.
      kills: role === 'backend' ? [role] : [],
      isSlow: true,
      strike: (fleet, pick) => stop(fleet, role, pick, frozenMs.long),
    },
  ]),
  {
    name: 'SIGKILL edge and session',
    kills: ['edge'],
    strike: async (fleet) => {
      await Promise.all([fleet.replace('edge', 'SIGKILL'), fleet.replace('session', 'SIGKILL')]);
    },
  },
  {
    name: 'SIGKILL edge and backend',
    kills: ['edge', 'backend'],
    strike: async (fleet) => {
      await Promise.all([fleet.replace('edge', 'SIGKILL'), fleet.replace('backend', 'SIGKILL')]);
    },
  },
  {
    name: 'SIGKILL session, and another one while it takes over',
    strike: (fleet) => fleet.killInTurn('session', takeoverMs),
  },
];

async function stop(fleet: Fleet, role: Role, pick: number, ms: number): Promise<void> {
  const { process } = fleet.part(role, pick);
  process.kill('SIGSTOP');
  await wait(ms);
  process.kill('SIGCONT');
}

async function cut(fleet: Fleet, role: Role, pick: number, ms: number): Promise<void> {
  const { link } = fleet.part(role, pick);
  link.cut();
  await wait(ms);
  link.mend();
}

async function fill({ cluster }: Fleet): Promise<void> {
  const empty = await cluster.fillStore();
  await wait(fullMs);
  await empty();
}
