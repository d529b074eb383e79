/**
 * The previous version and this one together on one NATS: each role is upgraded and downgraded process by process, while clients of the chaos run make
 * calls. There are no faults, so no call may be interrupted: every call is shorter than `timeouts.drain`.
 */
import { expect, it } from 'vitest';
import { startNatsServer, type NatsCluster } from '@omnibus/bus/testing';
import { asked, counter, sdkClient, streamer, worker, type Run } from '../chaos/clients.ts';
import { Fleet, roles } from '../chaos/fleet.ts';
import { omnibusProgram } from '../support/processes.ts';
import { consenting, listener } from '../chaos/session-clients.ts';
import { Tally } from '../chaos/tally.ts';
import { EraServer } from '../matrix/era-server.ts';
import { fixturePath } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';
import { before, unpackReleased } from './released.ts';

const stepMs = 100;
const longSteps = 8;

it(
  `nothing is lost, wrong or interrupted while each role goes from ${before} to this version and back`,
  { timeout: 240_000 },
  async () => {
    await using released = await unpackReleased();
    await using upstream = await Upstream.start({
      tools: [{ ...tool('look'), annotations: { readOnlyHint: true } }, tool('act'), tool('long')],
      resources: [7, 8].map((index) => ({ uri: `up://listener${index}`, name: `of listener ${index}` })),
      onCall: (call) => {
        const answer = (): void => call.answer(text(String(call.args['tag'])));
        if (call.name !== 'long') answer();
        else
          for (let step = 1; step <= longSteps; step += 1)
            setTimeout(() => (step === longSteps ? answer() : call.progress(step, longSteps)), step * stepMs);
      },
    });
    await using era = await EraServer.start('2025-11-25');
    const config = {
      timeouts: { call: '10s', drain: '5s', leave: '500ms' },
      mcpServers: {
        up: { url: upstream.url },
        era: { url: era.url },
        files: { command: 'node', args: [fixturePath('stdio-server')] },
      },
    };
    await using fleet = await Fleet.start(config, { program: released.program, nats: startNats() });
    const probe = await RawClient.open(fleet.url);
    await probe.untilTools((names) => ['up__act', 'era__form', 'files__count'].every((name) => names.includes(name)));
    probe[Symbol.dispose]();

    const tally = new Tally();
    const over = new AbortController();
    const run: Run = {
      url: fleet.url,
      tally,
      over: over.signal,
      pauseMs: () => 10,
      touch: (uri) => upstream.notify('notifications/resources/updated', { uri }),
    };
    const clients = [worker, worker, sdkClient, streamer, asked, counter, consenting, listener, listener].map(
      (work, index) => work(run, `${work.name}${index}`),
    );
    const steps: string[] = [];
    for (const program of [omnibusProgram, released.program]) {
      fleet.program = program;
      for (const role of roles.toReversed()) {
        for (const _ of [0, 1]) {
          const { answered } = tally;
          await fleet.replace(role, 'SIGTERM');
          const isNew = fleet.processes.map(({ child }) => child.spawnargs.includes(omnibusProgram));
          steps.push(
            `${role} ${isNew.map((each) => (each ? 'new' : 'old')).join(' ')}: ${tally.answered - answered} calls, ${tally.interruptions.length} interrupted so far`,
          );
        }
      }
    }
    over.abort();
    await Promise.all(clients);
    process.stdout.write(
      `\nupgrade from ${before} and back, edge edge session session backend backend:\n${steps.join('\n')}\n${tally.answered} calls answered; the longest any client waited ${Math.round(tally.longestWaitMs)} ms (${tally.longestWaitOf})\n`,
    );
    expect({
      lost: tally.lost,
      wrong: tally.wrong,
      unanswered: tally.unanswered,
      interrupted: tally.interruptions,
    }).toEqual({ lost: [], wrong: [], unanswered: [], interrupted: [] });
    // Versions were mixed, with calls in every mixture.
    expect(steps.filter((step) => step.includes('new') && step.includes('old')).length).toBe(10);
    expect(steps.filter((step) => step.includes(': 0 calls'))).toEqual([]);
  },
);

/** One node, which stays: only processes of ours are replaced. */
async function startNats(): Promise<NatsCluster> {
  const server = await startNatsServer();
  return {
    nodes: [
      { port: Number(new URL(server.url).port), isUp: true, kill: () => server.kill(), start: () => server.start() },
    ],
    fillStore: () => Promise.reject(new Error('nothing goes wrong here')),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
