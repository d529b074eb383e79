/**
 * Clients of every kind work while one fault follows the other: processes of every role are killed, stopped, cut off and given wrong clocks, nodes of the
 * NATS cluster fail, its store is full, a backend reaches no server, the configuration changes. Two users work at a server that wants each of them to sign in
 * (`members.ts`); their tokens expire and are revoked, and their issuer fails. Hostile servers run beside the correct ones all the time, and rules, limits,
 * approvals and the audit are on (`evidence.ts`). The schedule is determined by a seed, which is printed: `OMNIBUS_CHAOS_SEED` and `OMNIBUS_CHAOS_SECONDS`
 * choose another. The logs of the processes are written to the folder `OMNIBUS_CHAOS_LOGS`.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { EraServer } from '../matrix/era-server.ts';
import { Keys } from '../support/keys.ts';
import { PersonalServer } from '../support/personal-server.ts';
import { byLane, isLongLane } from '../support/lane.ts';
import { fixturePath } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream, type Call } from '../support/upstream.ts';
import { approving, asked, counter, sdkClient, streamer, worker, type Run } from './clients.ts';
import { blame, callMs, tooSlow, type Struck } from './blame.ts';
import { evidenceOf, governed, recordsOf } from './evidence.ts';
import { faults, longFaults } from './faults.ts';
import { Fleet } from './fleet.ts';
import { askedAnew, batching, heavy, heavyText, modern } from './long-clients.ts';
import { issuerFaults, members, membersOf, type Membership } from './members.ts';
import { randomNumbers, shuffled } from './random.ts';
import { consenting, listener } from './session-clients.ts';
import { Tally } from './tally.ts';

const seed = Number(process.env['OMNIBUS_CHAOS_SEED'] ?? 20_261_121);
/** In the long lane every fault occurs at least once, then more until the time is over. In the short lane the seed chooses faults until the time is over. */
const seconds = byLane('OMNIBUS_CHAOS_SECONDS', 10, 60);
const logFolder = process.env['OMNIBUS_CHAOS_LOGS'];
/** A client waits at most this long between two calls. */
const pauseMs = isLongLane ? 20 : 60;
/** Between two messages of a hostile server, each of which costs the backends as much as a call. */
const hostileMs = isLongLane ? 20 : 100;
const longSteps = 8;
const stepMs = 150;
const orphansGoneMs = 60_000;
/** A machine that is slow has so much longer until every fault has struck, and every client has done the steps to check. */
const lateMs = isLongLane ? 600_000 : 240_000;
/** Part of the calls that may be interrupted without a killed process that held them: on a machine without processor time, living ones count as lost. */
const unexplainedPart = 0.002;
const leastAnswered = isLongLane ? 1_000 : 100;

it(
  'no session is lost, no answer wrong or missing, nothing done twice, no child left behind, and with rules, limits, approvals, pins and a strict audit on, every call is on record',
  { timeout: seconds * 1_000 + lateMs + 360_000 },
  async () => {
    const executions = new Map<string, number>();
    const atUp = new Set<string>();
    const records = await mkdtemp(join(tmpdir(), 'omnibus-chaos-audit-'));
    const executed = (tag: unknown): unknown => executions.set(String(tag), (executions.get(String(tag)) ?? 0) + 1);
    const marker = `chaos-${process.pid}-${seed}`;
    await using upstream = await Upstream.start({
      tools: [
        { ...tool('look'), annotations: { readOnlyHint: true } },
        ...['act', 'long', 'careful', 'heavy'].map((name) => tool(name)),
      ],
      resources: [0, 1].map((index) => ({ uri: `up://listener${index + 14}`, name: `of listener ${index}` })),
      onCall: (call) => {
        const {
          name,
          args: { tag },
        } = call;
        if (name !== 'look') {
          executed(tag);
          atUp.add(String(tag));
        }
        if (name === 'long') work(call, 1);
        else call.answer(text(name === 'heavy' ? heavyText(String(tag)) : String(tag)));
      },
    });
    await using era = await EraServer.start('2025-11-25');
    await using newer = await EraServer.start('2026-07-28');
    await using personal = await PersonalServer.start();
    await using keys = await Keys.make('team', ...members);
    const headers = keys.headersOf('team');
    const membership: Membership = {
      server: personal,
      headersOf: (user) => keys.headersOf(user),
      signIns: new Map(),
      codes: new Map(),
    };
    const allFaults = [...faults, ...(isLongLane ? longFaults : []), ...issuerFaults(membership)];
    const tally = new Tally();
    const random = randomNumbers(seed);
    const struck: Struck[] = [];
    let clientCount = 0;
    {
      await using fleet = await Fleet.start((publicUrl) => ({
        // An edge that stops waits for calls that a killed backend worker had, which are known to be lost after some seconds.
        timeouts: { call: `${callMs}ms`, drain: '8s' },
        ...governed(records),
        publicUrl,
        auth: keys.auth,
        vault: { keys: [`a:${randomBytes(32).toString('base64')}`] },
        mcpServers: {
          up: { url: upstream.url, definitions: 'pin' },
          era: { url: era.url, definitions: 'pin' },
          ...(isLongLane ? { newer: { url: newer.url, definitions: 'pin' } } : {}),
          mine: { url: personal.url, restart: { minDelay: '50ms', maxDelay: '500ms' }, credentials: { kind: 'oauth' } },
          files: { command: 'node', args: [fixturePath('stdio-server'), '/dev/null', marker] },
          ...hostile(marker),
        },
      }));
      const probe = await RawClient.open(fleet.url, undefined, headers);
      await probe.untilTools((names) =>
        ['up__act', 'era__form', 'files__count', ...(isLongLane ? ['newer__form'] : [])].every((name) =>
          names.includes(name),
        ),
      );
      probe[Symbol.dispose]();

      const over = new AbortController();
      const run: Run = {
        url: fleet.url,
        headers,
        tally,
        over: over.signal,
        pauseMs: () => random() * pauseMs,
        touch: (uri) => upstream.notify('notifications/resources/updated', { uri }),
      };
      const clients = [
        worker,
        worker,
        worker,
        worker,
        sdkClient,
        sdkClient,
        streamer,
        streamer,
        asked,
        asked,
        counter,
        counter,
        consenting,
        consenting,
        listener,
        listener,
        approving,
        ...membersOf(membership),
        ...(isLongLane ? [modern, modern, askedAnew, batching, heavy] : []),
      ].map((work, index) => work(run, `${work.name}${index}`));
      // A fault during the first initialize of a client says nothing about sessions.
      clientCount = clients.length;
      await tally.allSucceeded(clientCount);
      const endsAt = performance.now() + seconds * 1_000;
      const leastStruck = isLongLane ? allFaults.length : certain.length;
      const isEnough = (): boolean =>
        struck.length >= leastStruck &&
        tally.answered > leastAnswered &&
        tally.approved > 0 &&
        membership.signIns.size === members.length;
      const isOver = (): boolean => performance.now() >= endsAt && (isEnough() || performance.now() >= endsAt + lateMs);
      while (!isOver()) {
        for (const fault of ordered(shuffled(allFaults, random))) {
          if (isOver()) break;
          const { name, kills = [], isSlow = false } = fault;
          const strike: Struck = { name, kills, isSlow, from: performance.now(), to: Infinity };
          struck.push(strike);
          tally.fault();
          await fault.strike(fleet, Math.floor(random() * 2));
          strike.to = performance.now();
        }
      }
      over.abort();
      await Promise.all(clients);
      if (logFolder !== undefined) await fleet.writeLogs(logFolder);
    }
    for (const [tag, count] of personal.executed) {
      executions.set(tag, count);
      atUp.add(tag);
    }
    for (const { method, params } of era.seen)
      if (method === 'tools/call') executed((params['arguments'] as { readonly say: unknown }).say);
    // A call of "form" comes twice to a server of this revision, the second time with the answer.
    for (const { method, params } of newer.seen)
      if (method === 'tools/call' && params['name'] === 'echo')
        executed((params['arguments'] as { readonly say: unknown }).say);

    const orphans = await untilNone(marker);
    const evidence = await evidenceOf(records, atUp, tally.seen);
    const twice = [...executions].filter(([, count]) => count > 1).map(([tag]) => tag);
    for (const line of await recordsOf(records, twice)) process.stdout.write(`${line}\n`);
    await rm(records, { recursive: true });
    const blamed = blame(tally.interruptions, struck, tally.repeatable);
    const { counts, refused, unexplained } = blamed;
    const causes = [...counts].map(([cause, count]) => `${cause} ${count}`).join('; ');
    process.stdout.write(
      `\nchaos, seed ${seed}: ${struck.length} faults (${struck.map(({ name, from }) => `${Math.round(from / 1_000)} s ${name}`).join(', ')});\n` +
        `${tally.answered} calls answered, ${tally.interruptions.length} interrupted and said to be (${causes}), ${refused} of them refused;\n` +
        `${unexplained.length} interrupted without a cause${unexplained.map((each) => `\n  ${each}`).join('')}\n` +
        `sessions lost ${tally.lost.length}, wrong or duplicated answers ${tally.wrong.length}, executed twice ${twice.length}, unanswered ${tally.unanswered.length}, orphans ${orphans.length};\n` +
        `signed in at the server with data of each user: ${[...membership.signIns].map(([user, count]) => `${user} ${count} times`).join(', ')}; ${personal.refreshes} refreshes; requests with what is another's ${personal.violations.length};\n` +
        `audit: ${atUp.size} calls executed, ${evidence.unrecorded.length} not on record; ${tally.seen.size} seen to succeed, ${evidence.endless.length} without a record of their end, of at most ${evidence.mayLack} that ${evidence.open} killed processes may lack\n` +
        `next success after a fault p50 ${tally.recoveredWithin(0.5)} ms, p99 ${tally.recoveredWithin(0.99)} ms; the longest any client waited ${Math.round(tally.longestWaitMs)} ms (${tally.longestWaitOf})\n`,
    );
    expect({ lost: tally.lost, wrong: tally.wrong, twice, unanswered: tally.unanswered, orphans }).toEqual({
      lost: [],
      wrong: [],
      twice: [],
      unanswered: [],
      orphans: [],
    });
    expect(personal.violations).toEqual([]);
    expect([...membership.signIns.keys()].toSorted()).toEqual([...members]);
    if (isLongLane) expect(personal.refreshes).toBeGreaterThan(0);
    expect(evidence).toMatchObject({ unrecorded: [], verified: 7, harm: [] });
    expect(evidence.open).toBeGreaterThan(0);
    expect(evidence.endless.length).toBeLessThanOrEqual(evidence.mayLack);
    expect(tooSlow(blamed, struck, clientCount)).toEqual([]);
    if (isLongLane) expect(unexplained.length).toBeLessThanOrEqual(tally.answered * unexplainedPart);
    expect(tally.approved).toBeGreaterThan(0);
    expect(tally.answered).toBeGreaterThan(leastAnswered);
    expect(struck.length).toBeGreaterThanOrEqual(isLongLane ? allFaults.length : certain.length);
  },
);

/** Faults that strike first in the short lane, whatever the seed. */
const certain = ['SIGKILL session', 'SIGKILL backend', 'NATS node 0 lost'];

function ordered<T extends { readonly name: string }>(all: readonly T[]): readonly T[] {
  return isLongLane ? all : all.toSorted((one, other) => Number(isCertain(other)) - Number(isCertain(one)));
}

const isCertain = ({ name }: { readonly name: string }): boolean => certain.includes(name);

/** Hostile servers beside those that are used. */
function hostile(marker: string): Record<string, { readonly command: string; readonly args: readonly string[] }> {
  return Object.fromEntries(
    ['garbage', 'storm', 'deep', 'hang'].map((way) => [
      way,
      { command: 'node', args: [fixturePath('chaos-stdio'), way, marker, String(hostileMs)] },
    ]),
  );
}

/** Handles a call that takes a while and reports progress. */
function work(call: Call, step: number): void {
  setTimeout(() => {
    if (step < longSteps) {
      call.progress(step, longSteps);
      work(call, step + 1);
    } else {
      call.answer(text(String(call.args['tag'])));
    }
  }, stepMs);
}

/** The processes with a word in their command line, once there are none or the time is over. */
async function untilNone(word: string): Promise<readonly string[]> {
  const giveUpAt = performance.now() + orphansGoneMs;
  for (;;) {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
    const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
    const found = lines.filter((line) => line.includes(word)).map((line) => line.replaceAll('\0', ' '));
    if (found.length === 0 || performance.now() > giveUpAt) return found;
  }
}
