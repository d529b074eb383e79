/** Reports the calls of one server to those who watch them (`Tap`): what happens with calls that have a tag, and, when a watch begins, the calls that run already. */
import { numberOf, type JsonObject, type ServerName } from '@omnibus/protocol';
import type { CallResult, Tap } from '@omnibus/telemetry';
import type { Progress } from '../connection/progress.ts';
import type { Call } from './call.ts';

/** Shortest time between two reports of the progress of one call: four a second are enough for a person. */
const progressMs = 250;

export class CallTelling {
  readonly #tap: Tap | undefined;
  readonly #server: ServerName;
  /** Ends reports about calls that run when a watch begins. */
  readonly stop: () => void;

  /**
   * @param tap undefined where nobody can watch.
   * @param open the calls that are open now.
   */
  constructor(tap: Tap | undefined, server: ServerName, open: () => readonly Call[]) {
    this.#tap = tap;
    this.#server = server;
    this.stop =
      tap?.whenWatched((watch) => {
        for (const call of open()) this.#stands(call, watch);
      }) ?? (() => undefined);
  }

  /** Reports something about a call, if it is watched. The object must not be changed afterwards. */
  tell({ tag }: Pick<Call, 'tag'>, what: string, more: JsonObject): void {
    if (tag !== undefined) this.#tap?.tell(tag, 'backend', what, more);
  }

  /** Reports how far a call is: numbers only, since a message of the server may contain what rules hide from whoever watches. */
  progress(call: Call, { progress, total }: Pick<Progress, 'progress' | 'total'>): void {
    if (call.tag === undefined) return;
    const now = performance.now();
    if (now - call.toldAt < progressMs) return;
    call.toldAt = now;
    this.tell(call, 'server-progress', {
      progress: numberOf(progress),
      ...(total === undefined ? {} : { total: numberOf(total) }),
    });
  }

  ended(call: Call, answer: CallResult | 'cancelled'): void {
    if (call.tag !== undefined)
      this.tell(call, 'server-answered', { answer, ms: Math.round((performance.now() - call.arrivedAt) * 10) / 10 });
  }

  /** A call that runs when a watch begins, and that the watch selects, is reported from now on, with the time at which it came here. */
  #stands(call: Call, watch: string): void {
    const {
      method,
      params: { name },
      context: { session, principal, standsAlone },
    } = call.command;
    const tool = method === 'tools/call' && typeof name === 'string' ? name : undefined;
    const tag = this.#tap?.chooseStanding(call.tag, { server: this.#server, tool, client: undefined, session }, watch);
    if (tag === undefined) return;
    call.tag = tag;
    this.tell(call, 'standing', {
      at: performance.timeOrigin + call.arrivedAt,
      method,
      server: this.#server,
      principal,
      ...(tool === undefined ? {} : { tool }),
      ...(standsAlone ? {} : { session: session.slice(0, 12) }),
      ...(call.running === undefined ? { waits: 'place' } : {}),
    });
  }
}
