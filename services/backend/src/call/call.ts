/** One call of a session to a server, from its arrival until its final event. */
import { KeyedLink } from '@omnibus/collections';
import type { Deadline, Place } from '@omnibus/lifecycle';
import type {
  CallCommand,
  ExchangeEvent,
  ExchangeId,
  ExchangeOutcome,
  InputAnswer,
  SessionKey,
} from '@omnibus/protocol';
import type { CallResult } from '@omnibus/telemetry';
import type { CatalogPublisher } from '../catalog/publisher.ts';
import type { UpstreamConnection } from '../connection/connection.ts';
import { rootsKey } from '../connection/questions.ts';
import type { CallWords } from './call-words.ts';
import { unwatched, type WatchedCall } from './watched-call.ts';

/** A call's request at the server, or on its way there. */
export interface RunningCall {
  readonly connection: UpstreamConnection;
  /** Cancels the request at the server. @param isTimeout the request ran out of time, which may mean that the server is not well. */
  cancel(reason: string, isTimeout: boolean): void;
  /** Releases the connection. */
  end(): void;
}

export class Call extends KeyedLink {
  readonly command: CallCommand;
  readonly reply: (event: ExchangeEvent) => void;
  readonly arrivedAt = performance.now();
  readonly limit: Deadline;
  /** Undefined if the call was refused a place. */
  place: Place | undefined;
  /** The latest attempt; undefined until the first. */
  running: RunningCall | undefined;
  /** The roots of its client, where they had to be asked for. */
  roots: InputAnswer | undefined;
  /** What watches it. */
  watched = unwatched;
  /** Undefined while its server has said nothing. */
  words: CallWords | undefined;

  constructor(command: CallCommand, reply: (event: ExchangeEvent) => void, limit: Deadline) {
    super();
    this.command = command;
    this.reply = reply;
    this.limit = limit;
  }

  /** From now on it is watched by this, too. */
  watch(watched: WatchedCall): void {
    this.watched = [...this.watched, watched];
  }

  get key(): ExchangeId {
    return this.command.exchange;
  }

  get exchange(): ExchangeId {
    return this.command.exchange;
  }

  get session(): SessionKey {
    return this.command.context.session;
  }

  /** The roots of its client, as `rootsKey` gives them. */
  get rootsKey(): string | undefined {
    const { roots } = this;
    return roots === undefined ? undefined : 'result' in roots ? rootsKey(roots.result) : 'not said';
  }
}

export function resultOf(outcome: ExchangeOutcome): CallResult {
  return outcome.kind === 'result' && outcome.result['isError'] === true ? 'tool_error' : outcome.kind;
}

/** The name of the called tool in metrics; undefined if its server does not list it. */
export function listedToolOf(
  { method, params: { name }, context: { principal } }: CallCommand,
  catalog: Pick<CatalogPublisher, 'tool'>,
): string | undefined {
  return method === 'tools/call' && typeof name === 'string' && catalog.tool(name, principal) !== undefined
    ? name
    : undefined;
}
