/**
 * Scenarios in which the suite is the server. It starts a program for each of them (`test/fixtures/drive.ts`), which asks here, in the test's process: a gateway
 * and its client start in a fraction of the time that a program of their own takes.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { fixturePath } from '../support/processes.ts';

/** For what the suite has started its program. */
export interface Started {
  /** The address of the suite's server. */
  readonly url: string;
  readonly scenario: string;
  readonly revision: string;
  /** JSON of what the scenario tells clients, such as their credentials. */
  readonly context: string;
}

/** The steps of a scenario. @param print a line for the suite, which shows it where the scenario fails. */
export type Drive = (started: Started, print: (line: string) => void) => Promise<void>;

export class Driver implements AsyncDisposable {
  readonly #server: Server;

  private constructor(drive: Drive) {
    this.#server = createServer({ allowHalfOpen: true }, (socket) => void answer(socket, drive));
  }

  static async start(drive: Drive): Promise<Driver> {
    const driver = new Driver(drive);
    driver.#server.listen(0, '127.0.0.1');
    await once(driver.#server, 'listening');
    return driver;
  }

  /** The program for the suite, which adds the address of its server. */
  get command(): string {
    return `node ${fixturePath('drive')} ${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    await once(this.#server, 'close');
  }
}

async function answer(socket: Socket, drive: Drive): Promise<void> {
  // The suite kills a program that takes too long.
  socket.on('error', () => socket.destroy());
  const lines: string[] = [];
  const print = (line: string): void => void lines.push(`${line}\n`);
  const status = await text(socket)
    .then((started) => drive(JSON.parse(started) as Started, print))
    .then(
      () => 0,
      (error: unknown) => {
        print((error as Error).stack ?? String(error));
        return 1;
      },
    );
  socket.end(JSON.stringify({ output: lines.join(''), status }));
}
