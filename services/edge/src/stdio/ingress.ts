/** One client on stdin and stdout (all revisions, stdio): a JSON-RPC message per line each way. */
import type { Readable, Writable } from 'node:stream';
import { anonymous, fault, rootEndpoint, type EndpointName } from '@omnibus/protocol';
import { DuplexClient, type DuplexOptions } from '../duplex/duplex-client.ts';
import { OpeningRate } from '../bounds/opening-rate.ts';
import { readLines } from './lines.ts';

export interface StdioIngressOptions extends Pick<DuplexOptions, 'bus' | 'delivery' | 'limits' | 'meter' | 'boundary'> {
  readonly endpoint: EndpointName | undefined;
  readonly input: Readable;
  readonly output: Writable;
  /** Messages that come before this resolves wait; the end of the input is noticed meanwhile. */
  readonly ready: Promise<unknown>;
  /** Milliseconds within which requests are still answered that came before the end of the input. */
  readonly drainMs: number;
}

/** Serves until the input ends or the output breaks, and then ends the session. It still answers messages read before the end of the input. */
export async function serveStdioClient(options: StdioIngressOptions): Promise<void> {
  const { limits, input, output, ready, drainMs } = options;
  const client = clientOn(options);
  output.on('error', () => input.destroy());
  const waiting: Buffer[] = [];
  let isReady = false;
  const { maxBodyBytes } = limits;
  const ended = readLines(input, {
    maxBytes: maxBodyBytes,
    line: (bytes) => {
      if (isReady) client.receiveBytes(bytes);
      else waiting.push(bytes);
      // One look at what comes is enough to notice an end; more than a moment's messages stay with the client.
      if (!isReady && waiting.length >= maxWaiting) input.pause();
    },
    tooLong: () =>
      client.refuse(
        fault('message.too_large', `the message is larger than ${maxBodyBytes} bytes`, { maxBytes: maxBodyBytes }),
        undefined,
      ),
  });
  /** After the end of the input answers may still be written; after the end of the output nothing matters. */
  const over = ended.then(() =>
    input.readableEnded && (waiting.length > 0 || isReady) ? endOfOutput(output, drainMs) : undefined,
  );
  await Promise.race([ready, over]);
  isReady = true;
  for (const bytes of waiting.splice(0)) client.receiveBytes(bytes);
  input.resume();
  await ended;
  await Promise.race([client.settled(), over]);
  await client.end();
}

function clientOn({
  bus,
  delivery,
  limits,
  meter,
  boundary,
  endpoint,
  input,
  output,
}: StdioIngressOptions): DuplexClient {
  return new DuplexClient({
    bus,
    delivery,
    limits,
    meter,
    boundary,
    carrier: 'pipe',
    bodies: undefined,
    rate: new OpeningRate({ burst: limits.sessionBurst, perSecond: limits.sessionsPerSecond }),
    address: 'stdio',
    caller: { principal: anonymous, endpoint: endpoint ?? rootEndpoint },
    write: (text) => {
      if (output.destroyed) return;
      // A client that reads nothing any more is as good as gone.
      if (output.writableLength > limits.maxBufferedBytes) input.destroy();
      else output.write(`${text}\n`);
    },
    ended: () => undefined,
  });
}

/** Resolves when nothing can be written any more, at the latest after `limitMs`. */
export function endOfOutput(output: Writable, limitMs: number): Promise<void> {
  return new Promise((resolve) => {
    if (output.destroyed) resolve();
    output.once('close', resolve);
    output.once('error', () => resolve());
    setTimeout(resolve, limitMs).unref();
  });
}

/** Lines that are read ahead while the servers start; a client usually sends one or two before it waits for answers. */
const maxWaiting = 16;
