/** One client on stdin and stdout (all revisions, stdio): a JSON-RPC message per line each way. */
import type { Readable, Writable } from 'node:stream';
import { createInterface } from 'node:readline';
import type { Bus } from '@omnibus/bus';
import { anonymous, fault, rootEndpoint, type EndpointName, type Limits } from '@omnibus/protocol';
import { DuplexClient } from '../duplex-client.ts';
import type { RequestMeter } from '../request-meter.ts';
import type { SessionDoor } from '../session-door.ts';
import type { Boundary } from '../boundary.ts';
import { OpeningRate } from '../opening-rate.ts';

export interface StdioIngressOptions {
  readonly bus: Bus;
  readonly door: SessionDoor;
  readonly limits: Limits;
  readonly meter: RequestMeter;
  readonly boundary: Boundary;
  readonly endpoint: EndpointName | undefined;
  readonly input: Readable;
  readonly output: Writable;
}

/** Serves until the input ends, and ends the session then. */
export async function serveStdioClient({ bus, door, limits, meter, boundary, endpoint, input, output }: StdioIngressOptions): Promise<void> {
  const client = new DuplexClient({
    bus, door, limits, meter,
    carrier: 'pipe', boundary, rate: new OpeningRate({ burst: limits.sessionBurst, perSecond: limits.sessionsPerSecond }), address: 'stdio',
    caller: { principal: anonymous, endpoint: endpoint ?? rootEndpoint },
    write: (text) => output.write(`${text}\n`),
    ended: () => undefined,
  });
  // A client that is gone reads nothing; the end of its input is what ends us.
  output.on('error', () => input.destroy());
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    if (line.trim() === '') continue;
    if (Buffer.byteLength(line) > limits.maxBodyBytes) client.refuse(fault('message.too_large', `the message is larger than ${limits.maxBodyBytes} bytes`, { maxBytes: limits.maxBodyBytes }), undefined);
    else client.receiveBytes(Buffer.from(line));
  }
  await client.end();
}
