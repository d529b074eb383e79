/**
 * Callers, tools and servers that are blocked. The records are in a bucket that every process watches, so a block takes effect everywhere as soon as a
 * message arrives, and remains after a restart.
 */
import { hash } from 'node:crypto';
import {
  fault,
  keyIssuer,
  type BlockKind,
  type BlockRecord,
  type Facts,
  type GatewayFault,
  type ServerName,
} from '@omnibus/protocol';
import type { Bus, KeyValue, Watch } from './bus.ts';
import { deleteUnchanged, Room } from './room.ts';
import { blocksBucket } from './subjects.ts';

/** Time after which an ended record is removed. */
const endedMs = 10 * 60_000;

/** A user as tokens name it. */
type NamedUser = Pick<Facts, 'issuer' | 'subject' | 'tenant'>;

/** A user as directories know it. */
type GoneUser = Pick<BlockRecord, 'name' | 'isAnyCase'> & { readonly tenant?: string | undefined };

export class Blocks {
  readonly #bucket: KeyValue<BlockRecord>;
  /** Blocks by kind and name. */
  readonly #blocked = new Map<string, BlockRecord>();
  readonly #byKey = new Map<string, { readonly name: string; readonly revision: number }>();
  readonly #listeners = new Set<(added: BlockRecord | undefined) => void>();
  readonly #room = new Room(() => this.#sweep());
  #watch: Watch | undefined;

  static async open(bus: Bus): Promise<Blocks> {
    const blocks = new Blocks(await bus.keyValue<BlockRecord>(blocksBucket));
    blocks.#watch = await blocks.#bucket.watch((change) => {
      const before = blocks.#byKey.get(change.key);
      if (before !== undefined) blocks.#blocked.delete(before.name);
      blocks.#byKey.delete(change.key);
      if (change.kind === 'put') {
        const name = nameOf(change.value);
        blocks.#blocked.set(name, change.value);
        blocks.#byKey.set(change.key, { name, revision: change.revision });
      }
      for (const listener of blocks.#listeners) listener(change.kind === 'put' ? change.value : undefined);
    });
    return blocks;
  }

  private constructor(bucket: KeyValue<BlockRecord>) {
    this.#bucket = bucket;
  }

  /** Number of blocks that have not been removed. */
  get size(): number {
    return this.#blocked.size;
  }

  /** Blocks that operators have set, and that are in force now. */
  get all(): readonly BlockRecord[] {
    return [...this.#blocked.values()].filter((record) => record.isGone !== true && isOn(record));
  }

  async add(record: BlockRecord): Promise<void> {
    await this.#write(keyOf(record.isPause === true ? 'pause' : record.kind, record.name), record);
  }

  /** Refuses a user that the directory of its provider has deactivated or deleted. */
  async addGone(user: Omit<BlockRecord, 'kind' | 'isGone' | 'isPause'>): Promise<void> {
    const record: BlockRecord = { ...user, kind: 'user', isGone: true };
    await this.#write(goneKey(record), record);
  }

  /** The revision of the record that refuses such a user; undefined if there is none. */
  async goneRevision(user: GoneUser): Promise<number | undefined> {
    return (await this.#bucket.get(goneKey(user)))?.revision;
  }

  /**
   * Admits a user that a directory has activated again.
   * @param revision of the record from before the activation was stored: a later record is of a later deactivation, and stays.
   */
  async removeGone(user: GoneUser, revision: number): Promise<void> {
    await deleteUnchanged(this.#bucket, goneKey(user), revision);
  }

  /** @param kind `pause`: ends the pause of a server. @returns false when there was no such block. */
  async remove(kind: BlockKind | 'pause', name: string): Promise<boolean> {
    const key = keyOf(kind, name);
    const entry = await this.#bucket.get(key);
    if (entry === undefined) return false;
    await this.#bucket.delete(key);
    return isOn(entry.value);
  }

  async #write(key: string, record: BlockRecord): Promise<void> {
    await this.#room.write(() => this.#bucket.put(key, record));
    this.#room.tidy();
  }

  /** Removes records that ended a while ago: other processes may have other clocks. */
  async #sweep(): Promise<void> {
    const since = Date.now() - endedMs;
    for (const [key, { name, revision }] of [...this.#byKey]) {
      const { until = Infinity } = this.#blocked.get(name) ?? {};
      if (until < since) await deleteUnchanged(this.#bucket, key, revision);
    }
  }

  /** Calls back for each new block, with its record, and for each block that is removed. */
  onChanged(listener: (added: BlockRecord | undefined) => void): void {
    this.#listeners.add(listener);
  }

  close(): void {
    this.#watch?.close();
  }

  has(kind: BlockKind, name: string): boolean {
    return this.#find(`${kind} ${name}`) !== undefined;
  }

  /** The reason why a caller is refused altogether. */
  callerProblem(facts: Facts | undefined): GatewayFault | undefined {
    if (this.#blocked.size === 0 || facts === undefined) return undefined;
    return this.#problemIn(namesOf(facts));
  }

  /** The reason why a user is refused that its directory has deactivated or deleted. The admin port asks: blocks of operators do not count there. */
  goneProblem(user: NamedUser): GatewayFault | undefined {
    return this.#problemIn(goneNamesOf(user));
  }

  /**
   * The reason why a caller may not use a server.
   * @param tool by the server's own name; undefined for a request that is about no tool.
   * @param isBegun whether it belongs to a call or task that runs there already, which a pause does not stop.
   */
  problemOf(
    facts: Facts | undefined,
    server: ServerName,
    tool: string | undefined,
    isBegun = false,
  ): GatewayFault | undefined {
    if (this.#blocked.size === 0) return undefined;
    const caller = this.callerProblem(facts);
    if (caller !== undefined) return caller;
    const record =
      this.#find(`server ${server}`) ?? (tool === undefined ? undefined : this.#find(`tool ${server}/${tool}`));
    if (record !== undefined) return targetFault(record);
    const pause = isBegun ? undefined : this.#find(`pause ${server}`);
    return pause === undefined
      ? undefined
      : fault(
          'upstream.paused',
          `an operator of the gateway has paused the server ${JSON.stringify(pause.name)}${why(pause)}; it gets no new requests until an operator resumes it`,
        );
  }

  #problemIn(names: readonly string[]): GatewayFault | undefined {
    const record = names.map((name) => this.#find(name)).find((found) => found !== undefined);
    return record === undefined ? undefined : callerFault(record);
  }

  #find(name: string): BlockRecord | undefined {
    const record = this.#blocked.get(name);
    return record !== undefined && isOn(record) ? record : undefined;
  }
}

const isOn = ({ until }: BlockRecord): boolean => until === undefined || Date.now() < until;
/** Keys have digests, since names may have any form and length. */
const keyOf = (kind: BlockKind | 'pause', name: string): string => `${kind}.${hash('sha256', name, 'base64url')}`;
const why = ({ because }: BlockRecord): string => (because === undefined ? '' : `: ${because}`);

/** `ISSUER|SUBJECT` is a name in one tenant. */
const goneName = ({ name, tenant = '', isAnyCase }: GoneUser): string =>
  isAnyCase === true ? `gone-any-case ${tenant} ${name.toLowerCase()}` : `gone ${tenant} ${name}`;
const goneKey = (user: GoneUser): string => `gone.${hash('sha256', goneName(user), 'base64url')}`;
const nameOf = (record: BlockRecord): string =>
  record.isGone === true ? goneName(record) : `${record.isPause === true ? 'pause' : record.kind} ${record.name}`;

/**
 * Tests whether users are the one that a directory has removed. A user that signs in at the provider through the gateway has the name there as its subject.
 */
export function isOfGone({ name, tenant = '', isAnyCase }: GoneUser): (user: NamedUser) => boolean {
  const same = (text: string): string => (isAnyCase === true ? text.toLowerCase() : text);
  const wanted = same(name);
  return ({ issuer, subject, tenant: of = '' }) =>
    of === tenant && (same(`${issuer}|${subject}`) === wanted || same(subject) === wanted);
}

function callerFault(record: BlockRecord): GatewayFault {
  if (record.isGone === true)
    return fault(
      'auth.blocked',
      `the directory of this user's organization has deactivated the user (SCIM)${why(record)}; an administrator of the directory can activate it again`,
    );
  return fault('auth.blocked', `an operator of the gateway has blocked this ${record.kind}${why(record)}`);
}

function targetFault(record: BlockRecord): GatewayFault {
  return fault(
    'call.blocked',
    `an operator of the gateway has blocked the ${record.kind} ${JSON.stringify(record.name)}${why(record)}`,
  );
}

/**
 * The names by which a directory may have refused a user.
 * A user that signs in at a provider through the gateway has the name at the provider as its subject.
 */
function goneNamesOf({ issuer, subject, tenant }: NamedUser): readonly string[] {
  return [`${issuer}|${subject}`, subject].flatMap((name) => [
    goneName({ name, tenant }),
    goneName({ name, tenant, isAnyCase: true }),
  ]);
}

/** All names by which a caller may be blocked: an agent is blocked by its own name, and by the names of those it acts for. */
function namesOf({
  principal,
  ofSubject,
  issuer,
  subject,
  tenant,
  actors,
  key,
  client,
  agent,
}: Facts): readonly string[] {
  return [
    `user ${issuer}|${subject}`,
    `user ${principal}`,
    ...goneNamesOf({ issuer, subject, tenant }),
    ...(ofSubject === undefined ? [] : [`user ${ofSubject}`]),
    ...(issuer === keyIssuer ? [`user key:${subject}`] : []),
    ...(agent === undefined ? [] : [`user agent:${agent}`]),
    ...actors.flatMap(({ issuer: by, subject: name, grant }) => [
      `user ${by}|${name}`,
      ...(grant === undefined ? [] : [`user ${name}`]),
    ]),
    ...(key === undefined ? [] : [`key ${key}`]),
    ...(client === undefined ? [] : [`client ${client}`]),
  ];
}
