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
}

/** Serves until the input ends or the output breaks, and then ends the session. */
export async function serveStdioClient({
  bus,
  delivery,
  limits,
  meter,
  boundary,
  endpoint,
  input,
  output,
  ready,
}: StdioIngressOptions): Promise<void> {
  const client = new DuplexClient({
    bus,
    delivery,
    limits,
    meter,
    boundary,
    carrier: 'pipe',
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
  await Promise.race([ready, ended]);
  isReady = true;
  for (const bytes of waiting.splice(0)) client.receiveBytes(bytes);
  input.resume();
  await ended;
  await client.end();
}

/** Lines that are read ahead while the servers start; a client usually sends one or two before it waits for answers. */
const maxWaiting = 16;
