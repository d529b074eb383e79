import { expect, it } from 'vitest';
import { Outbox } from './outbox.ts';

/** Notes what it is given, and in which turns of the event loop: in each, the client of NATS writes once. */
class Connection {
  readonly given: string[] = [];
  readonly turns = new Set<number>();
  turn = 0;
  ended = false;

  publish(subject: string): void {
    this.given.push(subject);
    this.turns.add(this.turn);
  }

  isClosed(): boolean {
    return this.ended;
  }

  isDraining(): boolean {
    return false;
  }
}

const bytes = new Uint8Array(1);
const refused = (error: unknown): void => expect.fail(String(error));
/** Sends from several callbacks, as sockets that have brought messages do. */
const callbacks = async (connection: Connection, run: () => void, count: number): Promise<void> => {
  for (let each = 0; each < count; each += 1) {
    connection.turn += 1;
    run();
    await Promise.resolve();
  }
  connection.turn += 1;
};
const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

it('messages of one turn of the event loop are written together, in the order in which they were sent', async () => {
  const connection = new Connection();
  const outbox = new Outbox(connection);
  let count = 0;
  await callbacks(connection, () => outbox.publish(`message-${(count += 1)}`, bytes, undefined, refused), 3);
  expect(connection.given).toEqual([]);
  await nextTurn();
  expect(connection.given).toEqual(['message-1', 'message-2', 'message-3']);
  expect(connection.turns.size).toBe(1);
  outbox.publish('message-4', bytes, undefined, refused);
  await nextTurn();
  expect(connection.given).toHaveLength(4);
});

it('a flush gives them at once, and none twice', async () => {
  const connection = new Connection();
  const outbox = new Outbox(connection);
  outbox.publish('first', bytes, undefined, refused);
  outbox.flush();
  expect(connection.given).toEqual(['first']);
  outbox.publish('second', bytes, undefined, refused);
  await nextTurn();
  await nextTurn();
  expect(connection.given).toEqual(['first', 'second']);
});

it('a connection that has closed meanwhile is given nothing', async () => {
  const connection = new Connection();
  new Outbox(connection).publish('late', bytes, undefined, refused);
  connection.ended = true;
  await nextTurn();
  expect(connection.given).toEqual([]);
});

it('the sender of a message that the client of NATS refuses gets the error, and the others leave', async () => {
  const connection = new (class extends Connection {
    override publish(subject: string): void {
      if (subject === 'b') throw new Error('max_payload size exceeded');
      super.publish(subject);
    }
  })();
  const outbox = new Outbox(connection);
  const told: string[] = [];
  for (const subject of ['a', 'b', 'c'])
    outbox.publish(subject, bytes, undefined, (error) => told.push(`${subject}: ${String(error)}`));
  await nextTurn();
  expect(connection.given).toEqual(['a', 'c']);
  expect(told).toEqual(['b: Error: max_payload size exceeded']);
});
