/**
 * Interfaces by which features add to the calls of one server. The path of a call knows only these; the list of features is built when the server's configuration
 * is applied (`features/index.ts`), and a feature that is off is in no list.
 *
 *   place in the bulkhead -> before -> connection (place) -> prepare -> takes or sends -> answers -> holds -> outcome
 */
import type {
  ExchangeContext,
  ExchangeMethod,
  ExchangeOutcome,
  GatewayFault,
  JsonObject,
  LogLevel,
} from '@omnibus/protocol';
import type { UpstreamConnection } from '../connection/connection.ts';
import type { Attempt } from './attempt.ts';
import type { Call } from './call.ts';
import type { WatchedCall } from './watched-call.ts';

/** The calls of one server, for steps that let a call wait. */
export interface CallRun {
  /** Whether the call has not ended yet. */
  isOpen(call: Call): boolean;
  /** Makes a call that has waited, also if it has given its place back meanwhile. */
  again(call: Call): void;
  /** Ends a call, unless a step holds it. */
  finish(call: Call, outcome: ExchangeOutcome): void;
  /** Ends a call. */
  end(call: Call, outcome: ExchangeOutcome): void;
  /** A bug in the gateway ends the call that met it, and nothing else. */
  failed(call: Call, error: unknown): void;
  /** Tells the session, and the client if it wants progress, that the call goes on. @param step that increases. */
  report(call: Call, message: string, step: number): void;
}

/** The connection of a call that no other may serve. */
export interface Placed {
  /** Undefined if any connection will do that `refuses` accepts. */
  readonly connection?: UpstreamConnection | undefined;
  refuses(connection: UpstreamConnection): GatewayFault | undefined;
}

type ByMethod<Run> = { readonly [Method in ExchangeMethod]?: Run };

/** One feature's part in calls. Members that it leaves out are not called. */
export interface CallStep {
  /** Called once, before the first call. */
  join?(run: CallRun): void;
  /** Methods that `place` need not see. */
  readonly ignores?: ReadonlySet<string>;
  /** The capability of clients for which `before` exists; left out: it concerns every client. */
  readonly client?: string;
  /** The member of a call's context for which `prepare` exists; left out: it concerns every call. */
  readonly given?: keyof ExchangeContext;
  /** Looks at a call that has its place. @returns an outcome that ends it; `held` if the step continues it later with `CallRun.again`; undefined to go on. */
  before?(call: Call): ExchangeOutcome | 'held' | undefined;
  /** @returns undefined for a call that any connection for its caller may serve; a fault for one that none may. */
  place?(call: Call): Placed | { readonly fault: GatewayFault } | undefined;
  /** Changes the params of a request before it is sent. */
  params?(call: Call, params: JsonObject): JsonObject;
  /** @returns undefined if the request can be sent at once; otherwise it is sent when that has resolved. */
  prepare?(attempt: Attempt): Promise<unknown> | undefined;
  /** Takes requests of a method: sends them (`Attempt.send`), or ends their calls without (`Attempt.finish`). */
  readonly takes?: ByMethod<(attempt: Attempt) => void>;
  /** Hears the server's final answers to requests of a method. @returns the answer for the client. */
  readonly answers?: ByMethod<(attempt: Attempt, outcome: ExchangeOutcome, requestId: number) => ExchangeOutcome>;
  /** Hears answers that do not end the request (`isComplete`). @returns the answer for the client. */
  goesOn?(attempt: Attempt, outcome: ExchangeOutcome, requestId: number): ExchangeOutcome;
  /** Hears of requests of a method that are cancelled at the server. */
  readonly cancels?: ByMethod<(call: Call, connection: UpstreamConnection) => void>;
  /** The least severe log messages that the client of a call gets; undefined for all. */
  least?(call: Call): LogLevel | undefined;
  /** @returns true for a call that does not end so: the step ends it later, or makes it again. */
  holds?(call: Call, given: ExchangeOutcome): boolean;
  /** Changes the answer for the client. */
  outcome?(call: Call, given: ExchangeOutcome): ExchangeOutcome;
  /** The call has ended. */
  forgotten?(call: Call): void;
  /** Ends all waits, since the adapter leaves. */
  stop?(): void;
}

/** Sees calls and changes only their metadata. */
export interface CallWatcher {
  /** The member of a call's context for which the watcher exists; left out: it sees every call. */
  readonly given?: keyof ExchangeContext;
  /** @returns undefined if this watcher does not want the call now. @param load the calls of the server that run and that wait for a place. */
  begun(call: Call, load: { readonly running: number; readonly waiting: number }): WatchedCall | undefined;
  /** Called once, before the first call. @param open the calls that are open now. */
  join?(open: () => readonly Call[]): void;
  /** The adapter leaves. */
  stop?(): void;
}

type Hook = 'before' | 'place' | 'params' | 'prepare' | 'least' | 'goesOn' | 'holds' | 'outcome' | 'forgotten';

/** The steps that have a hook, in order. */
export function stepsWith<Name extends Hook>(
  steps: readonly CallStep[],
  hook: Name,
): readonly (CallStep & Required<Pick<CallStep, Name>>)[] {
  return steps.filter((step): step is CallStep & Required<Pick<CallStep, Name>> => step[hook] !== undefined);
}

/** What steps do with requests of each method. */
export function byMethod<Name extends 'takes' | 'answers' | 'cancels'>(
  steps: readonly CallStep[],
  name: Name,
): NonNullable<CallStep[Name]> {
  return merged(steps.map((step) => step[name]));
}

/** One object with the members of all. It has no prototype, since servers and clients choose names that are looked up in it. */
export function merged<Members extends object>(all: readonly (Members | undefined)[]): Members {
  return Object.assign(Object.create(null) as object, ...all) as Members;
}
