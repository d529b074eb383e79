/**
 * Examines a NATS as a process would find it, with the permissions of a single role, and leaves nothing behind. NATS reports a refusal for the connection
 * and not for the refused message, so each question has an inbox of its own and waits only as long as NATS needs to refuse.
 */
import type { MsgHdrs, NatsConnection, Subscription } from '@nats-io/transport-node';
import { createInbox, headers, nuid } from '@nats-io/transport-node';
import { root } from '../subject.ts';
import { authorizationBuckets, catalogBucket } from '../subjects.ts';
import { connectNats, type NatsOptions } from './connect.ts';
import { busRoles, inboxOf } from './permissions.ts';
import { apiAt, nameAt, usualPlace } from './place.ts';
import type { BusRole } from '../families.ts';

export interface NatsExamination {
  readonly roundTripMs: number;
  /** The roles for which this user may receive replies; `all` for a process with all of them. */
  readonly roles: readonly (BusRole | 'all')[];
  /** Whether JetStream is available, or why not; undefined when this user may not ask. */
  readonly storage: 'there' | { readonly problem: string } | undefined;
  /** Milliseconds by which the clock of NATS is ahead of ours; undefined when this user may do nothing that shows the clock. */
  readonly clockSkewMs: number | undefined;
}

type Answer = {
  readonly created?: string;
  readonly config?: object;
  readonly seq?: number;
  readonly message?: { readonly time?: string };
  readonly error?: { readonly description?: string; readonly err_code?: number };
};

/** NATS reports a refusal before it answers the next ping; an answer of JetStream may take a way through its cluster. */
const answerMs = 2_000;
const lookMs = 20;

/** @throws {BusError} as `connectNats` does. */
export async function examineNats(options: Omit<NatsOptions, 'inboxPrefix'>): Promise<NatsExamination> {
  const place = options.place ?? usualPlace;
  const connection = await connectNats(options);
  const asking = new Asking(connection);
  try {
    const startedAt = performance.now();
    await connection.flush();
    const roundTripMs = performance.now() - startedAt;
    const roles: (BusRole | 'all')[] = [];
    for (const role of ['all', ...busRoles] as const)
      if (await asking.mayHear(createInbox(nameAt(place, inboxOf(role))))) roles.push(role);
    const api = apiAt(place);
    const information = await asking.ask(`${api}.INFO`, {});
    const storage =
      information === undefined || information.error === undefined
        ? information && 'there'
        : { problem: information.error.description ?? 'it does not say why' };
    return {
      roundTripMs,
      roles,
      storage,
      clockSkewMs: storage === 'there' ? await readClock(asking, api, (name) => nameAt(place, name)) : undefined,
    };
  } finally {
    asking.close();
    await connection.close();
  }
}

/**
 * JetStream reports the time of stored messages, and of streams that it creates. A role writes the mark of a key that never was: of the catalogue, from which it
 * removes the mark, or of a bucket with short expiry. A user with the right to create any stream creates one in memory.
 */
async function readClock(asking: Asking, api: string, named: (name: string) => string): Promise<number | undefined> {
  const name = `doctor-${nuid.next()}`;
  /** Half of the round trip is subtracted. */
  const skew = (stored: string, before: number, after: number): number => Date.parse(stored) - (before + after) / 2;
  for (const bucket of [catalogBucket, authorizationBuckets.short]) {
    const stream = `KV_${named(bucket.name)}`;
    const key = `$KV.${named(bucket.name)}.${name}`;
    if ((await asking.ask(`${api}.STREAM.INFO.${stream}`, {}))?.config === undefined) continue;
    const before = Date.now();
    const { seq } = (await asking.ask(api === '$JS.API' ? key : `${api}.${key}`, undefined, deletion())) ?? {};
    const after = Date.now();
    if (seq === undefined) continue;
    const stored = await asking.ask(`${api}.STREAM.MSG.GET.${stream}`, { seq });
    if (bucket.name === catalogBucket.name)
      await asking.ask(`${api}.STREAM.MSG.DELETE.${stream}`, { seq, no_erase: true });
    if (stored?.message?.time !== undefined) return skew(stored.message.time, before, after);
  }
  const before = Date.now();
  const made = await asking.ask(`${api}.STREAM.CREATE.${name}`, {
    name,
    subjects: [`${named(root)}.${name}`],
    storage: 'memory',
    max_msgs: 1,
    num_replicas: 1,
  });
  const after = Date.now();
  if (made?.created === undefined) return undefined;
  await asking.ask(`${api}.STREAM.DELETE.${name}`, {});
  return skew(made.created, before, after);
}

/** The headers of the mark of a deleted key (NATS, ADR-8). */
function deletion(): MsgHdrs {
  const said = headers();
  said.set('KV-Operation', 'DEL');
  return said;
}

/** Asks with the first inbox that this user may subscribe to. */
class Asking {
  readonly #connection: NatsConnection;
  readonly #subscriptions: Subscription[] = [];
  #inbox: string | undefined;
  /** Subjects that NATS does not let this user publish to. */
  readonly #refused = new Set<string>();
  readonly #answers = new Map<string, Answer>();
  #count = 0;

  constructor(connection: NatsConnection) {
    this.#connection = connection;
    void this.#followRefusals();
  }

  async #followRefusals(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type !== 'error') continue;
      const { operation, subject } = status.error as { readonly operation?: string; readonly subject?: string };
      if (operation === 'publish' && subject !== undefined) this.#refused.add(subject);
    }
  }

  async mayHear(inbox: string): Promise<boolean> {
    let isRefused = false;
    const subscription = this.#connection.subscribe(`${inbox}.*`, {
      callback: (error, message) => {
        if (error !== null) isRefused = true;
        else this.#answers.set(message.subject, parse(message.string()));
      },
    });
    this.#subscriptions.push(subscription);
    await this.#connection.flush();
    if (isRefused) return false;
    this.#inbox ??= inbox;
    return true;
  }

  /** @returns undefined when NATS refuses the question, or there is no answer. */
  async ask(subject: string, body: object | undefined, said?: MsgHdrs): Promise<Answer | undefined> {
    if (this.#inbox === undefined) return undefined;
    this.#count += 1;
    const reply = `${this.#inbox}.${this.#count}`;
    this.#connection.publish(subject, body === undefined ? '' : JSON.stringify(body), {
      reply,
      ...(said === undefined ? {} : { headers: said }),
    });
    await this.#connection.flush();
    for (let waitedMs = 0; waitedMs < answerMs; waitedMs += lookMs) {
      const answer = this.#answers.get(reply);
      if (answer !== undefined || this.#refused.has(subject)) return answer;
      await new Promise<void>((resume) => {
        setTimeout(resume, lookMs);
      });
    }
    return undefined;
  }

  close(): void {
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
  }
}

/** A reply without responders has no payload. */
function parse(text: string): Answer {
  return text === ''
    ? { error: { description: 'NATS does not answer: JetStream is off' } }
    : (JSON.parse(text) as Answer);
}
