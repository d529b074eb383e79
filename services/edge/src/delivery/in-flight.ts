import type { PendingRequest, ReplyObserver } from '@omnibus/bus';
import { Link, type Ring } from '@omnibus/collections';
import {
  repeatableMethods,
  type Caller,
  type JsonRpcRequest,
  type PostedMessage,
  type SessionCommand,
  type SessionKey,
  type StreamFrame,
  type StreamId,
  type WorkerId,
} from '@omnibus/protocol';
import type { SessionAddress } from './session-addresses.ts';

/** Called for requests whose worker is gone and whose outcome is unknown. */
export type Interrupted = (
  caller: Caller,
  requests: readonly JsonRpcRequest[],
  of: { readonly session?: SessionKey; readonly trace?: string | undefined },
) => void;

/** One command of a session, from its beginning until its last frame, whichever workers have it meanwhile. */
export class InFlight extends Link {
  readonly address: SessionAddress;
  readonly command: SessionCommand;
  readonly observer: ReplyObserver<StreamFrame>;
  /** The request on the bus; undefined before it is sent, and while its next owner is searched for. */
  pending: PendingRequest | undefined;
  /** The worker that has it. */
  sentTo: WorkerId | undefined;
  /** Number of times that it was sent. */
  attempts = 0;
  /** Number of times in a row that it was sent to a worker that did not hold the session. */
  misses = 0;
  /** Number of times that its worker did not answer whether it has the command. */
  unanswered = 0;
  /** Time since which its worker gives no signs of life; undefined where it does. */
  waitsSince: number | undefined;
  /** Sequence number of the last message that was received; undefined before the first. */
  heardUpTo: number | undefined;

  constructor(address: SessionAddress, command: SessionCommand, observer: ReplyObserver<StreamFrame>) {
    super();
    this.address = address;
    this.command = command;
    this.observer = observer;
  }

  /** The client's requests in it. */
  get requests(): readonly JsonRpcRequest[] {
    const { command } = this;
    const messages: readonly PostedMessage[] =
      command.kind === 'post' ? [command.message] : command.kind === 'batch' ? command.messages : [];
    return messages.flatMap((each) => (each.kind === 'request' ? [each.message] : []));
  }

  /** Sequence number of the last message of the stream that the client has received, on this or an earlier connection. */
  get sequence(): number {
    const { command, heardUpTo = 0 } = this;
    return Math.max(heardUpTo, command.kind === 'attach' ? (command.after?.sequence ?? 0) : 0);
  }

  /** The stream on which its answer comes. */
  get stream(): StreamId | undefined {
    const { command } = this;
    if (command.kind === 'attach') return command.after?.stream ?? command.stream;
    return command.kind === 'post' || command.kind === 'batch' ? command.stream : undefined;
  }

  /** The command with which another worker can continue after the messages that the client has received. */
  get continued(): SessionCommand {
    const { command, heardUpTo, sequence } = this;
    if (heardUpTo === undefined) return command;
    switch (command.kind) {
      case 'attach':
        return { ...command, after: { stream: command.after?.stream ?? command.stream, sequence } };
      case 'post':
      case 'batch':
        return { ...command, sentUpTo: heardUpTo };
      case 'detach':
      case 'delete':
      case 'probe':
        return command;
    }
  }

  /** Whether executing it twice has no further effect. */
  get isRepeatable(): boolean {
    const { command } = this;
    switch (command.kind) {
      case 'attach':
      case 'detach':
      case 'delete':
      case 'probe':
        return true;
      case 'post':
        return isHarmless(command.message);
      case 'batch':
        return command.messages.every(isHarmless);
    }
  }
}

function isHarmless(posted: PostedMessage): boolean {
  return posted.kind !== 'request' || repeatableMethods.has(posted.message.method);
}

/**
 * Adds a command to the open ones and sends it.
 * @returns a handle that withdraws it.
 * @throws what `send` throws; then it is not added.
 */
export function track<Tracked extends Link & { readonly pending: PendingRequest | undefined }>(
  open: Ring<Tracked>,
  tracked: Tracked,
  send: (tracked: Tracked) => void,
): PendingRequest {
  open.add(tracked);
  try {
    send(tracked);
  } catch (error) {
    open.remove(tracked);
    throw error;
  }
  return {
    close: () => {
      open.remove(tracked);
      tracked.pending?.close();
    },
  };
}
