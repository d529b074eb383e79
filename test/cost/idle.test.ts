/**
 * What idle sessions cost whose clients read a stream: messages on the bus, bytes to clients and wake-ups of all roles, counted for a minute. The test turns the
 * clock, so that nothing depends on the load of the machine.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { subjects } from '@omnibus/bus';
import { Outsider } from '@omnibus/bus/testing';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { untilTrue } from '../support/paced.ts';
import { RawClient } from '../support/raw-client.ts';
import { tool, Upstream } from '../support/upstream.ts';

const count = 100;
/** Shorter than the time between two signs of life. */
const stepMs = 250;
const steps = 60_000 / stepMs;
const keepAlive = ': keep-alive\n\n';

const signsOfLife = new Set(
  [subjects.presence, subjects.edgePresence, subjects.backendPresence].map(({ name }) => name),
);

/** Moments at which a timer fires. */
class Wakes {
  readonly #moments = new Set<number>();
  #now = 0;

  /** Watches timers that are made from now on. */
  constructor() {
    const { setTimeout: later, setInterval: often } = globalThis;
    const counting =
      (run: (...values: unknown[]) => void) =>
      (...values: unknown[]): void => {
        this.#moments.add(performance.now());
        run(...values);
      };
    globalThis.setTimeout = ((run: () => void, ms?: number, ...more: unknown[]) =>
      later(counting(run), ms, ...more)) as typeof setTimeout;
    globalThis.setInterval = ((run: () => void, ms?: number, ...more: unknown[]) =>
      often(counting(run), ms, ...more)) as typeof setInterval;
  }

  /** The number since the last question. */
  take(): number {
    const taken = this.#moments.size - this.#now;
    this.#now = this.#moments.size;
    return taken;
  }
}

/** A client that reads the stream of its session, and counts its bytes. */
async function reader(url: string, session: string): Promise<{ readonly socket: Socket; text: string }> {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  const read = { socket, text: '' };
  await once(socket, 'connect');
  socket.write(
    `GET ${pathname} HTTP/1.1\r\nhost: ${hostname}\r\naccept: text/event-stream\r\nmcp-session-id: ${session}\r\n\r\n`,
  );
  await once(socket, 'data');
  socket.on('data', (chunk: Buffer) => void (read.text += chunk.toString()));
  return read;
}

afterEach(() => void vi.useRealTimers());

describe.each(['embedded', 'nats'] as const)('%s', (shape) => {
  /**
   * Lets a minute pass.
   * @param gateway hears everything of one moment before the next one comes.
   * A worker whose signs of life come back late counts itself as cut off, and writes its records again.
   * @returns the messages on the bus other than signs of life and questions about stores, and the wake-ups.
   */
  async function minute(gateway: GatewayHere, outsider: Outsider | undefined, wakes: Wakes) {
    const messages: string[] = [];
    /** Where answers of stores are awaited. An answer may be heard before its question. */
    const asked = new Set<string>();
    const answered = new Set<string>();
    let heard = 0;
    const stop = outsider?.subscribe('>', (subject, payload, _respond, replyTo) => {
      heard += 1;
      answered.add(subject);
      if (replyTo !== '' && /^\$(?:JS\.API|KV)\./.test(subject)) asked.add(replyTo);
      if (!signsOfLife.has(subject) && !subject.startsWith('$JS.') && !payload.includes('"io.nats.jetstream.'))
        messages.push(subject);
    });
    const untilQuiet = async (): Promise<void> => {
      let before: number;
      do {
        before = heard;
        // First everything is at NATS, and then at its receivers.
        for (let round = 0; round < 2; round += 1) await Promise.all(gateway.processes.map((part) => part.arrived()));
        await outsider?.flush();
      } while (heard > before || [...asked].some((each) => !answered.has(each)));
    };
    await outsider?.flush();
    vi.setTimerTickMode('manual');
    await untilQuiet();
    wakes.take();
    for (let step = 0; step < steps; step += 1) {
      await vi.advanceTimersByTimeAsync(stepMs);
      await untilQuiet();
      await new Promise<void>((resolve) => void setImmediate(resolve));
    }
    stop?.();
    const taken = wakes.take();
    vi.setTimerTickMode('interval');
    return { messages, wakes: taken };
  }

  it(`${count} idle streams add no message, three comments each, and less than two wake-ups a second together`, async () => {
    vi.useFakeTimers({
      toFake: ['Date', 'performance', 'setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'],
      shouldAdvanceTime: true,
    });
    const wakes = new Wakes();
    await using upstream = await Upstream.start({ tools: [tool('echo')] });
    await using gateway: GatewayHere = await startGatewayHere(shape, {
      limits: { sessionBurst: 1_000 },
      mcpServers: { up: { url: upstream.url } },
    });
    await using outsider = gateway.bus === undefined ? undefined : await Outsider.connect(gateway.bus);
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('echo'));
    const before = await minute(gateway, outsider, wakes);
    const clients = await Promise.all(Array.from({ length: count }, () => RawClient.open(gateway.url)));
    // Each has used the server, so that the backend knows its session.
    await Promise.all(clients.map((each) => each.callTool('echo')));
    const readers = await Promise.all(clients.map(({ session }) => reader(gateway.url, session as string)));
    const after = await minute(gateway, outsider, wakes);
    const comments = (): number[] => readers.map(({ text }) => text.split(keepAlive).length - 1);
    await untilTrue(() => Math.min(...comments()) >= 3);
    for (const { socket } of readers) socket.destroy();
    for (const each of clients) each[Symbol.dispose]();
    expect(after.messages.filter((subject) => !before.messages.includes(subject))).toEqual([]);
    expect(after.messages.length - before.messages.length).toBeLessThanOrEqual(2);
    expect(new Set(comments())).toEqual(new Set([3]));
    expect(after.wakes - before.wakes).toBeLessThanOrEqual(90);
  });
});
