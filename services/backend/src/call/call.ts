/** One call of a session to a server, from its arrival until its final event. */
import { KeyedLink } from '@omnibus/collections';
import type { Deadline, Place } from '@omnibus/lifecycle';
import type {
  CallCommand,
  ExchangeEvent,
  ExchangeId,
  InputAnswer,
  SessionKey,
  ToolEntry,
  WorkerId,
} from '@omnibus/protocol';
import type { UpstreamConnection } from '../connection/connection.ts';
import { rootsKey } from '../connection/questions.ts';
import type { CallWords } from './call-words.ts';
import { unwatched, type WatchedCall } from './watched-call.ts';

/** A call's request at the server, or on its way there. */
export interface RunningCall {
  readonly connection: UpstreamConnection;
  /** Cancels the request at the server. @param isTimeout the request ran out of time, which may mean that the server is not well. */
  cancel(reason: string, isTimeout: boolean): void;
}

export class Call extends KeyedLink {
  readonly key: ExchangeId;
  readonly exchange: ExchangeId;
  readonly session: SessionKey;
  readonly command: CallCommand;
  reply: (event: ExchangeEvent) => void;
  /** The session worker that may cancel it; undefined if any may. */
  owner: WorkerId | undefined;
  readonly arrivedAt = performance.now();
  /** When it was known last that its session worker waits for it, on the clock of `performance.now()`. */
  wantedAt = this.arrivedAt;
  readonly limit: Deadline;
  /** Undefined if the call was refused a place. */
  place: Place | undefined;
  /** The latest attempt; undefined until the first. */
  running: RunningCall | undefined;
  /** The called tool, as its caller is offered it; undefined for another call, and for a tool that the server does not list. */
  tool: ToolEntry | undefined;
  /** Whether it uses the shared connection. */
  isCommon = false;
  /** Gives its connection back; undefined while it has none. */
  done: (() => void) | undefined;
  /** The roots of its client, if they were requested. */
  roots: InputAnswer | undefined;
  /** What watches it. */
  watched = unwatched;
  /** Undefined while its server has said nothing. */
  words: CallWords | undefined;

  constructor(
    command: CallCommand,
    reply: (event: ExchangeEvent) => void,
    limit: Deadline,
    tool: ToolEntry | undefined,
  ) {
    super();
    this.key = command.exchange;
    this.exchange = command.exchange;
    this.session = command.context.session;
    this.command = command;
    this.reply = reply;
    this.owner = command.owner;
    this.limit = limit;
    this.tool = tool;
  }

  /** From now on it is watched by this, too. */
  watch(watched: WatchedCall): void {
    this.watched = [...this.watched, watched];
  }

  /** Gives its connection back, once. */
  end(): void {
    const { done } = this;
    this.done = undefined;
    done?.();
  }

  /** The roots of its client, as `rootsKey` gives them. */
  get rootsKey(): string | undefined {
    const { roots } = this;
    return roots === undefined ? undefined : 'result' in roots ? rootsKey(roots.result) : 'not said';
  }
}
