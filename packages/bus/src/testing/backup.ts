/**
 * Backs up and restores streams of a NATS, as `nats account backup` and `nats account restore` do: by the snapshots of JetStream's API, which the tools
 * of operators use. A snapshot has the configuration of a stream, and its messages with their numbers.
 */
import { connect, type NatsConnection } from '@nats-io/transport-node';

/** The contents of `backup.json` and `stream.tar.s2` of that tool. */
interface Snapshot {
  readonly name: string;
  readonly config: object;
  readonly state: object;
  readonly pieces: readonly Uint8Array[];
}

interface Answer {
  readonly error?: { readonly description: string };
  readonly streams?: readonly string[];
  readonly config?: object;
  readonly state?: object;
  readonly deliver_subject?: string;
}

export class Backups implements AsyncDisposable {
  readonly #connection: NatsConnection;

  private constructor(connection: NatsConnection) {
    this.#connection = connection;
  }

  /** @param user name of a NATS user with the necessary permissions. */
  static async connect(servers: string, user: string, pass: string): Promise<Backups> {
    return new Backups(await connect({ servers, user, pass }));
  }

  async streams(): Promise<readonly string[]> {
    return (await this.#ask('$JS.API.STREAM.NAMES', {})).streams ?? [];
  }

  /** All streams, with the buckets, which are streams too. */
  async backUp(): Promise<readonly Snapshot[]> {
    const snapshots: Snapshot[] = [];
    for (const name of await this.streams()) snapshots.push(await this.#snapshot(name));
    return snapshots;
  }

  async restore(snapshots: readonly Snapshot[]): Promise<void> {
    for (const { name, config, state, pieces } of snapshots) {
      const to = (await this.#ask(`$JS.API.STREAM.RESTORE.${name}`, { config, state })).deliver_subject as string;
      for (const piece of pieces) await this.#connection.request(to, piece);
      const { error } = (await this.#connection.request(to, new Uint8Array(0), { timeout: 10_000 })).json<Answer>();
      if (error !== undefined) throw new Error(`${name}: ${error.description}`);
    }
  }

  /** Deletes all streams, as after a loss of all disks. The user needs permission for it. */
  async loseAll(): Promise<void> {
    for (const name of await this.streams()) await this.#ask(`$JS.API.STREAM.DELETE.${name}`, {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection.close();
  }

  async #snapshot(name: string): Promise<Snapshot> {
    const inbox = `_INBOX.backup.${name}`;
    const messages = this.#connection.subscribe(inbox);
    const { config = {}, state = {} } = await this.#ask(`$JS.API.STREAM.SNAPSHOT.${name}`, {
      deliver_subject: inbox,
      no_consumers: true,
      chunk_size: 64 * 1024,
    });
    const pieces: Uint8Array[] = [];
    for await (const message of messages) {
      if (message.data.length === 0) break;
      pieces.push(message.data);
      message.respond();
    }
    return { name, config, state, pieces };
  }

  async #ask(subject: string, question: object): Promise<Answer> {
    const answer = (
      await this.#connection.request(subject, JSON.stringify(question), { timeout: 10_000 })
    ).json<Answer>();
    if (answer.error !== undefined) throw new Error(`${subject}: ${answer.error.description}`);
    return answer;
  }
}
