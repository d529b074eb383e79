/** Another party on the NATS of a gateway, which publishes and reads any bytes. */
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { connect, headers, type MsgHdrs, type NatsConnection } from '@nats-io/transport-node';

type Bytes = Uint8Array | string;

/** For requests to JetStream. Beside a load or a flood of messages it may need longer than the client waits by default. */
const patient = { timeout: 60_000 };

export class Outsider {
  readonly #connection: NatsConnection;

  private constructor(connection: NatsConnection) {
    this.#connection = connection;
  }

  /** @param inboxPrefix subject under which it receives answers; default: that of NATS. */
  static async connect(url: string, inboxPrefix?: string): Promise<Outsider> {
    return new Outsider(await connect({ servers: url, ...(inboxPrefix === undefined ? {} : { inboxPrefix }) }));
  }

  publish(subject: string, payload: Bytes, header?: readonly [name: string, value: string]): void {
    this.#connection.publish(subject, payload, header === undefined ? {} : { headers: headersOf(header) });
  }

  /** Sends a request and waits for the first answer. @returns its headers, each as one text, and its payload. */
  async request(
    subject: string,
    payload: Bytes,
    timeoutMs: number,
    header?: readonly [name: string, value: string],
  ): Promise<{ readonly headers: readonly string[]; readonly text: string }> {
    const answer = await this.#connection.request(subject, payload, {
      timeout: timeoutMs,
      ...(header === undefined ? {} : { headers: headersOf(header) }),
    });
    return {
      headers: answer.headers?.keys().map((key) => `${key}: ${answer.headers?.get(key) ?? ''}`) ?? [],
      text: answer.string(),
    };
  }

  /** Receives the subjects of a pattern. @returns a function that ends it. */
  subscribe(
    pattern: string,
    heard: (subject: string, text: string, respond: (payload: Bytes) => void, replyTo: string) => void,
  ): () => void {
    const subscription = this.#connection.subscribe(pattern, {
      callback: (_error, message) =>
        heard(message.subject, message.string(), (payload) => void message.respond(payload), message.reply ?? ''),
    });
    return () => subscription.unsubscribe();
  }

  /** Records all messages from now on. @returns the records so far: subjects, headers and payloads. */
  capture(): () => string {
    const said: string[] = [];
    this.#connection.subscribe('>', {
      callback: (_error, message) =>
        void said.push(
          message.subject,
          ...(message.headers?.keys() ?? []).map((key) => message.headers?.values(key).join() ?? ''),
          Buffer.from(message.data).toString('latin1'),
        ),
    });
    return () => said.join('\n');
  }

  /** All messages that are stored, those of buckets included: subjects, headers and payloads. */
  async streams(): Promise<string> {
    const manager = await jetstreamManager(this.#connection, patient);
    const stored: string[] = [];
    for await (const {
      config: { name },
      state,
    } of manager.streams.list()) {
      for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
        // Messages in between may have been replaced.
        const message = await manager.streams.getMessage(name, { seq }).catch(() => null);
        if (message !== null)
          stored.push(
            message.subject,
            ...message.header.keys().map((key) => message.header.values(key).join()),
            Buffer.from(message.data).toString('latin1'),
          );
      }
    }
    return stored.join('\n');
  }

  async put(bucket: string, key: string, value: Bytes): Promise<void> {
    await (await new Kvm(jetstream(this.#connection, patient)).open(bucket)).put(key, value);
  }

  /** Everything that is in the buckets, by bucket and key. */
  async buckets(): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
    const manager = new Kvm(jetstream(this.#connection, patient));
    const stored = new Map<string, ReadonlyMap<string, string>>();
    for await (const { bucket } of manager.list()) {
      const store = await manager.open(bucket);
      const keys: string[] = [];
      for await (const key of await store.keys()) keys.push(key);
      stored.set(
        bucket,
        new Map(await Promise.all(keys.map(async (key) => [key, (await store.get(key))?.string() ?? ''] as const))),
      );
    }
    return stored;
  }

  /** Resolves when everything that was published has arrived at NATS. */
  async flush(): Promise<void> {
    await this.#connection.flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection.close();
  }
}

function headersOf([name, value]: readonly [string, string]): MsgHdrs {
  const made = headers();
  made.set(name, value);
  return made;
}
