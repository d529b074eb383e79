/** Reports the calls of one server to users that watch them (`Tap`): calls that have a tag, and, when a watch begins, the calls that run already. */
import { mannerOf, numberOf, type ExchangeMethod, type JsonObject, type ServerName } from '@omnibus/protocol';
import type { CallResult, Tap } from '@omnibus/telemetry';
import type { Progress } from '../../connection/progress.ts';
import type { Call } from '../../call/call.ts';
import type { CallWatcher } from '../../call/steps.ts';
import type { WatchedCall } from '../../call/watched-call.ts';

/** Shortest time between two reports of the progress of one call: four a second are enough for a person. */
const progressMs = 250;

/** A call with a tag. */
class ToldCall implements WatchedCall {
  readonly #tap: Tap;
  readonly #call: Call;
  tag: string;
  /** When its progress was last reported, by `performance.now()`. */
  #toldAt = -Infinity;

  constructor(tap: Tap, call: Call, tag: string) {
    this.#tap = tap;
    this.#call = call;
    this.tag = tag;
  }

  /** Reports something about the call. The object must not be changed afterwards. */
  tell(what: string, more: JsonObject): void {
    this.#tap.tell(this.tag, 'backend', what, more);
  }

  written(request: number, round: number): void {
    this.tell('written', { request, round });
  }

  asked(method: string): void {
    this.tell('server-asked', { asks: method });
  }

  /** Reports how far the call is: numbers only, since a message of the server may contain what rules hide from users that watch. */
  progressed({ progress, total }: Pick<Progress, 'progress' | 'total'>): void {
    const now = performance.now();
    if (now - this.#toldAt < progressMs) return;
    this.#toldAt = now;
    this.tell('server-progress', {
      progress: numberOf(progress),
      ...(total === undefined ? {} : { total: numberOf(total) }),
    });
  }

  ended(answer: CallResult | 'cancelled'): void {
    const ms = Math.round((performance.now() - this.#call.arrivedAt) * 10) / 10;
    this.tell('server-answered', { answer, ms });
  }
}

export class CallTelling implements CallWatcher {
  readonly given = 'tap';
  readonly #tap: Tap;
  readonly #server: ServerName;
  /** Ends reports about calls that run when a watch begins. */
  stop: () => void = () => undefined;

  constructor(tap: Tap, server: ServerName) {
    this.#tap = tap;
    this.#server = server;
  }

  join(open: () => readonly Call[]): void {
    this.stop = this.#tap.whenWatched((watch) => {
      for (const call of open()) this.#stands(call, watch);
    });
  }

  begun(
    call: Call,
    { running, waiting }: { readonly running: number; readonly waiting: number },
  ): ToldCall | undefined {
    const { tap: tag } = call.command.context;
    if (tag === undefined) return undefined;
    const told = new ToldCall(this.#tap, call, tag);
    told.tell('queued', { server: this.#server, running, waiting });
    return told;
  }

  /** A call that runs when a watch begins, and that the watch selects, is reported from now on, with the time at which it came here. */
  #stands(call: Call, watch: string): void {
    const { method, params, context } = call.command;
    const { session, principal } = context;
    const tool = toolOf(method, params);
    const known = call.watched.find((each): each is ToldCall => each instanceof ToldCall);
    const chosen = { server: this.#server, tool, client: undefined, session };
    const tag = this.#tap.chooseStanding(known?.tag, chosen, watch);
    if (tag === undefined) return;
    const told = known ?? new ToldCall(this.#tap, call, tag);
    if (known === undefined) call.watch(told);
    told.tag = tag;
    told.tell('standing', {
      at: performance.timeOrigin + call.arrivedAt,
      method,
      server: this.#server,
      principal,
      ...(tool === undefined ? {} : { tool }),
      ...(mannerOf(context).lasts ? { session: session.slice(0, 12) } : {}),
      ...(call.running === undefined ? { waits: 'place' } : {}),
    });
  }
}

function toolOf(method: ExchangeMethod, { name }: JsonObject): string | undefined {
  return method === 'tools/call' && typeof name === 'string' ? name : undefined;
}
