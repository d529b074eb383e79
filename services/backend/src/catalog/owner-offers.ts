/**
 * Lists of a server with users' own credentials: read over each user's connection, and stored under the user's key. Users
 * with equal lists share one entry of the record. Users without credentials get the `connect` tool.
 */
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { setLast } from '@omnibus/collections';
import { differences } from '@omnibus/catalog';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import {
  declaredOf,
  isObject,
  listKinds,
  ownerKey,
  signInName,
  type CallerOffer,
  type CatalogLists,
  type CatalogRecord,
  type ExchangeContext,
  type JsonObject,
  type Limits,
  type ListKind,
  type OfferCaller,
  type Principal,
  type ServerIntroduction,
  type ServerName,
  type ToolEntry,
  type UnfitEntry,
  type Who,
} from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import type { UpstreamConnection } from '../connection/connection.ts';
import type { NewConnection } from '../connection/pool-options.ts';
import type { ConnectionPool } from '../connection/pool.ts';
import { FailedReadings } from './failed-readings.ts';
import { readList, type ReaderOptions } from './reader.ts';
import { refusedTool, withoutSignIn } from './sign-in-offer.ts';

export interface OwnerOffersOptions extends ReaderOptions {
  readonly server: ServerName;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly limits: Limits;
  /** The option `rereadLists` of the server. */
  readonly rereadMs: number;
  readonly connections: () => ConnectionPool;
  /** Whether the server has refused requests in a user's name, for lack of a sign-in. */
  readonly wantsSignIn: (principal: Principal) => boolean;
  /** The tool that such a user is offered. */
  readonly standIn: ToolEntry;
  /** The record of some user has changed. */
  readonly changed: () => void;
  /** The server was met over a connection in some user's name. */
  readonly met: (introduction: ServerIntroduction) => void;
}

/** Bound on users with known lists; those of others are read again when they come. All are in one record, at about a hundred bytes each. */
const maxOwners = 2_000;
/** Bound on readings at a time: a server that hangs for one user keeps few others waiting. */
const maxReadings = 8;
/** Bound on users with pending readings; further users are queued when they come again. */
const maxQueued = 1_000;
/** Bound on entries of one user that are named as left out. */
const maxUnfit = 20;
/** Time within which changes are collected, to be written together. */
const settleMs = 20;

/** The result of a reading for a user. */
interface ReadLists {
  readonly lists: Partial<CatalogLists>;
  /** Left out entries, with the reason. */
  readonly unfit: readonly UnfitEntry[];
}

const nothingRead: ReadLists = { lists: {}, unfit: [] };

interface Content extends ReadLists {
  readonly key: string;
  readonly length: number;
  /** Whether the user must still sign in, and gets the tool `connect`. */
  readonly wantsSignIn: boolean;
  /** Whether a tool of the gateway's own is among them. */
  readonly isReplaced: boolean;
}

interface Known {
  readonly caller: OfferCaller;
  readonly content: Content;
  isStale: boolean;
}

export class OwnerOffers {
  /** Always empty: `of` computes the offers of users, as differences to the lists for all. */
  readonly all: readonly CallerOffer[] = [];
  readonly #options: OwnerOffersOptions;
  /** By `ownerKey`; the user that came last is at the end. */
  readonly #known = new Map<string, Known>();
  readonly #queue = new Map<string, OfferCaller>();
  readonly #reading = new Map<string, OfferCaller>();
  /** Users of whom something could not be read. */
  readonly #unread = new Map<string, OfferCaller>();
  /** Removed users, as they came: what is read of them from now on is not kept. */
  readonly #gone = new WeakSet<OfferCaller>();
  readonly #failed: FailedReadings;
  readonly #met = new WeakMap<UpstreamConnection, ServerIntroduction>();
  readonly #principals = new WeakMap<UpstreamConnection, Principal>();
  /** Connections that are opened to read lists over, which are read when they are open. */
  readonly #opening = new WeakSet<UpstreamConnection>();
  #telling: Deadline | undefined;
  #rereading: Deadline | undefined;
  #isStopped = false;

  constructor(options: OwnerOffersOptions) {
    this.#options = options;
    this.#failed = new FailedReadings(options.wheel);
    this.#rereadLater();
  }

  /** The number of users that came and have yet to sign in before the server shows them its lists. */
  get waiting(): number {
    return new Set(
      [...this.#known.values()].filter(({ content }) => content.wantsSignIn).map(({ caller }) => caller.principal),
    ).size;
  }

  /** Whether a name means the `connect` tool of a user: the user sees it, or did, and the server has no tool of that name for the user. */
  showsStandIn(principal: Principal): boolean {
    const isMeant = ({ wantsSignIn, lists: { tools = [] } }: Content): boolean =>
      wantsSignIn || !tools.some(({ name }) => name === signInName);
    return [...this.#known.values()].some(({ caller, content }) => caller.principal === principal && isMeant(content));
  }

  /** @param lists the lists for all, to which those of users are differences. @param hasSignIn whether they get the tool `connect`, which is left out for users that have signed in. */
  of(lists: CatalogLists, hasSignIn: boolean): Pick<CatalogRecord, 'owners' | 'offers'> {
    const owners = Object.fromEntries([...this.#known].map(([key, { content }]) => [key, content.key]));
    const contents = new Map([...this.#known.values()].map(({ content }) => [content.key, content]));
    const offers = [...contents.values()]
      .map((content): CallerOffer => {
        const offer = {
          key: content.key,
          lists: differences(lists, content.lists),
          ...(content.unfit.length === 0 ? {} : { unfit: content.unfit }),
        };
        return hasSignIn && !content.isReplaced ? withoutSignIn(offer) : offer;
      })
      .toSorted((one, other) => (one.key < other.key ? -1 : 1));
    return { owners, offers };
  }

  /** A user with unknown lists has come. @returns whether they will be read. */
  want(caller: OfferCaller): boolean {
    const key = keyOf(caller);
    const known = this.#known.get(key);
    if (known !== undefined) setLast(this.#known, key, known, maxOwners);
    // The user's facts may have changed, and the server may get them.
    const isAsked = key !== '' && (known?.isStale !== false || !isDeepStrictEqual(known.caller.who, caller.who));
    // Of its own: in one process, the next user of a name may come with the same object.
    if (isAsked) this.#enqueue(key, { ...caller });
    return isAsked;
  }

  /** A connection in a user's name is open. */
  join(connection: UpstreamConnection, { principal }: Pick<NewConnection, 'principal'>): void {
    this.#principals.set(connection, principal);
  }

  /** Such a connection is open. */
  opened(connection: UpstreamConnection, introduction: ServerIntroduction): void {
    // Where the user has another connection, changes were announced over it; one that opens again may follow a restart of the server.
    const isFurther =
      !this.#met.has(connection) &&
      this.#options
        .connections()
        .all()
        .some(
          (each) =>
            each !== connection && each.isReady && this.#principals.get(each) === this.#principals.get(connection),
        );
    this.#met.set(connection, introduction);
    this.#options.met(introduction);
    // Where each reading needs a connection of its own, it would else be followed by the next one without end.
    if (!this.#opening.delete(connection) && !isFurther) this.heard(connection);
  }

  /** The server has announced over such a connection that a list changed, or may have. @returns false for a connection that is no user's. */
  heard(connection: UpstreamConnection): boolean {
    const principal = this.#principals.get(connection);
    if (principal !== undefined) this.changed(principal);
    return principal !== undefined;
  }

  /** A user has signed in, must sign in, or has other credentials. */
  changed(principal: Principal): void {
    for (const [key, known] of this.#known) {
      if (known.caller.principal !== principal) continue;
      known.isStale = true;
      this.#enqueue(key, known.caller);
    }
  }

  /** A user was removed: another person with the same name is offered other things. */
  forget(isGone: (who: Who) => boolean): void {
    const known = [...this.#known.values()].map(({ caller }) => caller);
    for (const caller of [...known, ...this.#queue.values(), ...this.#reading.values(), ...this.#unread.values()])
      if (caller.who !== undefined && isGone(caller.who)) this.#gone.add(caller);
    for (const [key, caller] of this.#queue) if (this.#gone.has(caller)) this.#queue.delete(key);
    for (const [key, { caller }] of this.#known)
      if (this.#gone.has(caller)) {
        this.#known.delete(key);
        this.#tell();
      }
  }

  /** The server has refused a request in a user's name. */
  refused(principal: Principal): void {
    if ([...this.#known.values()].some(({ caller, content }) => caller.principal === principal && !content.wantsSignIn))
      this.changed(principal);
  }

  /** A tool as the calling user gets it; another user's tool of this name may differ. */
  tool(name: string, _common: ToolEntry | undefined, principal: Principal): ToolEntry | undefined {
    for (const { caller, content } of this.#known.values()) {
      const found =
        caller.principal === principal ? content.lists.tools?.find((entry) => entry.name === name) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Lists that were known under another configuration may have been read in another user's name. */
  begin(): void {}

  /** The lists for all do not affect those of users. */
  baseRead(): void {}

  stop(): void {
    this.#isStopped = true;
    for (const timer of [this.#telling, this.#rereading]) timer?.cancel();
    this.#queue.clear();
    this.#failed.stop();
  }

  /** Reads the lists of connected users again now and then, for changes that the server does not announce. */
  #rereadLater(): void {
    const { wheel, rereadMs, connections } = this.#options;
    if (rereadMs === 0) return;
    this.#rereading = wheel.schedule(rereadMs, () => {
      const ready = new Set(
        connections()
          .all()
          .filter(({ isReady }) => isReady)
          .map((connection) => this.#principals.get(connection)),
      );
      for (const [key, { caller }] of this.#known) if (ready.has(caller.principal)) this.#enqueue(key, caller);
      this.#rereadLater();
    });
  }

  #enqueue(key: string, caller: OfferCaller): void {
    if (this.#isStopped || this.#gone.has(caller) || (!this.#queue.has(key) && this.#queue.size >= maxQueued)) return;
    this.#queue.set(key, caller);
    this.#readNext();
  }

  #readNext(): void {
    for (const [key, caller] of this.#queue) {
      if (this.#reading.size >= maxReadings) return;
      if (this.#reading.has(key)) continue;
      this.#queue.delete(key);
      this.#reading.set(key, caller);
      void this.#read(key, caller)
        .catch((error: unknown) => {
          this.#options.log.error({ err: error }, 'what a user is offered could not be read');
          return false;
        })
        .then((isKnown) => {
          this.#reading.delete(key);
          if (isKnown) this.#unread.delete(key);
          else setLast(this.#unread, key, caller, maxOwners);
          if (!this.#isStopped) this.#failed.wasRead(key, isKnown, () => this.#enqueue(key, caller));
          this.#readNext();
        });
    }
  }

  /** @returns whether everything is known now that can be. */
  async #read(key: string, caller: OfferCaller): Promise<boolean> {
    const { connections, log } = this.#options;
    const context: ExchangeContext = { ...caller, logLevel: undefined, wantsProgress: false, maxTimeMs: 0 };
    await connections().settling(context);
    const taken = connections().takeToRead(context);
    if ('refused' in taken) {
      log.debug({ refused: taken.refused }, 'there is no connection to read over what a user is offered');
      // The user sees the reason instead of tools; requests for tools get the same reason.
      if (taken.fault !== undefined)
        this.#learn(key, caller, nothingRead, refusedTool(this.#options.server, taken.fault.message));
      return taken.fault !== undefined;
    }
    if (!this.#met.has(taken.connection)) this.#opening.add(taken.connection);
    try {
      const read = await this.#listsOver(taken.connection, caller.capabilities);
      const before = this.#known.get(key)?.content;
      if (read !== undefined) {
        // Nothing was heard of a list that could not be read: it stays as it was, unless it was the gateway's own.
        const kept =
          before === undefined || before.isReplaced
            ? []
            : Object.entries(before.lists).filter(([kind]) => read.unread.has(kind as ListKind));
        // If a server demands more rights for calls, the user sees its tools, and the address of another sign-in.
        const isAsked = this.#options.wantsSignIn(caller.principal);
        this.#learn(
          key,
          caller,
          { lists: { ...read.lists, ...Object.fromEntries(kept) }, unfit: read.unfit },
          isAsked ? this.#options.standIn : undefined,
          isAsked,
        );
        return read.unread.size === 0;
      }
      const mustSignIn = this.#options.wantsSignIn(caller.principal);
      if (mustSignIn) this.#learn(key, caller, before ?? nothingRead, this.#options.standIn, true);
      return mustSignIn;
    } finally {
      this.#opening.delete(taken.connection);
      taken.done();
    }
  }

  /** @returns undefined if no request in that user's name is possible. */
  async #listsOver(
    connection: UpstreamConnection,
    capabilities: JsonObject,
  ): Promise<(ReadLists & { readonly unread: ReadonlySet<ListKind> }) | undefined> {
    const { log } = this.#options;
    const [lists, unread, unfit]: [Partial<Record<ListKind, unknown>>, Set<ListKind>, UnfitEntry[]] = [
      {},
      new Set(),
      [],
    ];
    const read = async (kind: ListKind): Promise<void> => {
      const reading = await readList(
        kind,
        (method, params) => connection.ask(method, params, undefined, { capabilities, logLevel: undefined }),
        this.#options,
      );
      const broken = 'failed' in reading ? reading.failed : reading.broken;
      if (broken === undefined && 'entries' in reading) {
        lists[kind] = reading.entries;
        unfit.push(...reading.problems.slice(0, maxUnfit - unfit.length));
      } else if (this.#has(connection, kind) && connection.isReady) {
        unread.add(kind);
        log.warn({ problem: broken }, 'a list of the server could not be read for a user');
      }
    };
    // The request waits until the connection is open, and fails if it does not open.
    await read('tools');
    if (!connection.isReady) return undefined;
    await Promise.all(listKinds.filter((kind) => kind !== 'tools' && this.#has(connection, kind)).map(read));
    const isKnown = listKinds.some((kind) => kind in lists) || listKinds.every((kind) => !this.#has(connection, kind));
    return connection.isReady && isKnown ? { lists: lists as Partial<CatalogLists>, unread, unfit } : undefined;
  }

  #has(connection: UpstreamConnection, kind: ListKind): boolean {
    return isObject(this.#met.get(connection)?.capabilities[kind === 'resourceTemplates' ? 'resources' : kind]);
  }

  /** @param tool in addition to or instead of the server's own tools. */
  #learn(
    key: string,
    caller: OfferCaller,
    { lists: given, unfit }: ReadLists,
    tool?: ToolEntry,
    wantsSignIn = false,
  ): void {
    if (this.#gone.has(caller)) return;
    const isReplaced = tool !== undefined;
    const lists =
      tool === undefined
        ? given
        : { ...given, tools: [...(given.tools ?? []).filter(({ name }) => name !== tool.name), tool] };
    const text = JSON.stringify([isReplaced, wantsSignIn, listKinds.map((kind) => lists[kind] ?? null), unfit]);
    const digest = `own ${hash('sha256', text, 'base64url').slice(0, 22)}`;
    const shared = [...this.#known.values()].find(({ content }) => content.key === digest)?.content;
    const before = this.#known.get(key);
    const content = shared ?? { key: digest, lists, unfit, length: text.length, wantsSignIn, isReplaced };
    setLast(this.#known, key, { caller, content, isStale: false }, maxOwners);
    for (const oldest of this.#known.keys()) {
      if (oldest === key || this.#length() <= this.#options.limits.maxCatalogBytes) break;
      this.#known.delete(oldest);
    }
    if (before?.content.key !== digest) this.#tell();
  }

  /** Characters of all users' lists together; lists that several users share count once. */
  #length(): number {
    return [...new Set([...this.#known.values()].map(({ content }) => content))].reduce(
      (sum, { length }) => sum + length,
      0,
    );
  }

  #tell(): void {
    this.#telling ??= this.#options.wheel.schedule(settleMs, () => {
      this.#telling = undefined;
      if (!this.#isStopped) this.#options.changed();
    });
  }
}

function keyOf(caller: OfferCaller): string {
  return ownerKey(declaredOf(caller, caller.principal));
}
