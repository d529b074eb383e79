import type { PendingRequest, ReplyObserver } from '@omnibus/bus';
import { Link, type Ring } from '@omnibus/collections';
import { repeatableMethods, type Caller, type JsonRpcRequest, type PostedMessage, type SessionCommand, type SessionKey, type StreamFrame, type StreamId, type WorkerId } from '@omnibus/protocol';
import type { SessionAddress } from './session-addresses.ts';

/** Hears of requests whose worker is gone, and whose outcome nobody knows. */
export type Interrupted = (caller: Caller, requests: readonly JsonRpcRequest[], of: { readonly session?: SessionKey; readonly trace?: string | undefined }) => void;

/** One command of a session, from the moment it is asked for until its last frame, whichever workers have it meanwhile. */
export class InFlight extends Link {
  readonly address: SessionAddress;
  readonly command: SessionCommand;
  readonly observer: ReplyObserver<StreamFrame>;
  /** Undefined while nobody has it: before it is sent, and while its next owner is looked for. */
  pending: PendingRequest | undefined;
  /** The worker that has it. */
  sentTo: WorkerId | undefined;
  /** How often it was sent. */
  attempts = 0;
  /** How often in a row it was sent to a worker that did not hold the session. */
  misses = 0;
  /** How often its worker was asked after it and said nothing. */
  unanswered = 0;
  /** Since when its worker is not heard of. */
  waitsSince: number | undefined;
  /** The number of the last message that was heard; undefined before anything was. */
  heardUpTo: number | undefined;

  constructor(address: SessionAddress, command: SessionCommand, observer: ReplyObserver<StreamFrame>) {
    super();
    this.address = address;
    this.command = command;
    this.observer = observer;
  }

  /** What the client has asked with it. */
  get requests(): readonly JsonRpcRequest[] {
    const { command } = this;
    const messages: readonly PostedMessage[] = command.kind === 'post' ? [command.message] : command.kind === 'batch' ? command.messages : [];
    return messages.flatMap((each) => (each.kind === 'request' ? [each.message] : []));
  }

  /** Number of the last message the client has had of the stream, on this or an earlier connection. */
  get sequence(): number {
    const { command, heardUpTo = 0 } = this;
    return Math.max(heardUpTo, command.kind === 'attach' ? (command.after?.sequence ?? 0) : 0);
  }

  /** The stream its answer comes on. */
  get stream(): StreamId | undefined {
    const { command } = this;
    if (command.kind === 'attach') return command.after?.stream ?? command.stream;
    return command.kind === 'post' || command.kind === 'batch' ? command.stream : undefined;
  }

  /** The command as another worker goes on with it: after what the client has had. */
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

  /** Whether it can be done a second time without doing more than once would have. */
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
 * Puts what is asked for among what is open, and sends it.
 * @returns what takes it back.
 * @throws whatever `send` throws; then it is not open.
 */
export function track<Tracked extends Link & { readonly pending: PendingRequest | undefined }>(open: Ring<Tracked>, tracked: Tracked, send: (tracked: Tracked) => void): PendingRequest {
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
