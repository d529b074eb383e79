/** Takes over sessions of dead workers, and finds the worker that holds a session without a record. */
import { subjects } from '@omnibus/bus';
import type { AdoptCommand, AdoptReply, SessionKey, WorkerId } from '@omnibus/protocol';
import type { Contest } from './records.ts';
import type { Sessions, SessionsOptions } from './sessions.ts';

export interface AdoptionOptions extends Pick<
  SessionsOptions,
  'bus' | 'wheel' | 'log' | 'metrics' | 'worker' | 'records' | 'peers'
> {
  readonly sessions: Sessions;
  /** Whether there is room for one more session, if need be after ending an unused one. */
  readonly hasRoom: () => boolean;
}

/** Milliseconds that the store has to answer before the other workers are asked, too: it may be electing a leader, or wait for its other nodes. */
const storeMs = 100;

export class Adoption {
  readonly #options: AdoptionOptions;
  /** Takeovers that run, by session and former worker: several edges may ask for one at the same time. */
  readonly #running = new Map<string, Promise<AdoptReply>>();

  constructor(options: AdoptionOptions) {
    this.#options = options;
  }

  /** Takes a session over, once for all edges that ask at the same time. */
  adopt(command: AdoptCommand): Promise<AdoptReply> {
    const key = `${command.key} ${command.lost}`;
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const adopting = this.#adopt(command).finally(() => this.#running.delete(key));
    this.#running.set(key, adopting);
    return adopting;
  }

  async #adopt({ key, lost }: AdoptCommand): Promise<AdoptReply> {
    const { bus, log, metrics, worker, records, sessions, hasRoom } = this.#options;
    const here = { outcome: 'held', worker } as const;
    if (sessions.find(key) !== undefined) return here;
    try {
      const recorded = await this.#orHolder(key, records.read(key));
      if (recorded === undefined) return await this.#find(key, lost);
      if ('outcome' in recorded) return recorded;
      const { worker: holder, caller } = recorded.value;
      if (holder !== lost && holder !== worker) return { outcome: 'held', worker: holder };
      if (!hasRoom()) return { outcome: 'busy' };
      const contest = { isDecided: false };
      const taken = await this.#orHolder(key, records.adopt(key, recorded, contest), contest);
      if (typeof taken === 'object') return taken;
      if (!taken) {
        // Another worker was faster.
        const faster = (await records.read(key))?.value.worker;
        return faster === undefined || faster === lost ? { outcome: 'busy' } : { outcome: 'held', worker: faster };
      }
      if (sessions.find(key) !== undefined) return here; // Another edge asked for it, too.
      const session = sessions.hold(key, caller);
      session.restore(recorded.value);
      sessions.held.weigh(session);
      metrics.sessionsAdopted.inc();
      if (holder !== worker) bus.publish(subjects.sessionTaken(holder), { key });
      return here;
    } catch (error) {
      log.error({ err: error, session: key }, 'a session could not be taken over');
      return { outcome: 'busy' };
    }
  }

  /** What the store answers, or the worker that says that it holds the session: without enough of its nodes the store says nothing for some seconds. */
  async #orHolder<Answer>(
    key: SessionKey,
    answer: Promise<Answer>,
    contest: Contest = { isDecided: false },
  ): Promise<Answer | AdoptReply> {
    const { bus, wheel, peers } = this.#options;
    if (!bus.isShared || (await wheel.isDoneWithin(storeMs, answer))) return answer;
    const holding = async (): Promise<Answer | AdoptReply> => {
      const worker = await peers.askAll(peers.others, subjects.sessionFindAt, { key }, ({ isHeld }) => isHeld);
      if (worker === undefined || worker === 'silence' || contest.isDecided) return answer;
      contest.isDecided = true;
      return { outcome: 'held', worker };
    };
    return Promise.race([answer, holding()]);
  }

  /**
   * Only the worker that holds a session without a record knows of it: it asks every worker that may be there, and the silence of one proves
   * nothing.
   * @param lost a worker that no longer holds it.
   */
  async #find(key: SessionKey, lost: WorkerId | undefined): Promise<AdoptReply> {
    const { bus, peers } = this.#options;
    if (!bus.isShared) return { outcome: 'unknown' };
    // Right after the start, some workers are still unknown: they have a moment to answer, and no more. Their silence proves nothing,
    // but a POST that waits for a second has begun its stream, and cannot get a 404, by which a client knows that it must initialize again.
    const unheard = peers.isComplete ? undefined : await peers.find(key);
    if (unheard !== undefined && unheard !== 'silence') return { outcome: 'held', worker: unheard };
    const others = peers.others.filter((worker) => worker !== lost);
    const held = await peers.askAll(others, subjects.sessionFindAt, { key }, ({ isHeld }) => isHeld);
    if (held === 'silence') return { outcome: 'busy' };
    if (held !== undefined) return { outcome: 'held', worker: held };
    return (await this.#mayComeBack(key, lost)) ? { outcome: 'busy' } : { outcome: 'unknown' };
  }

  /**
   * Whether a worker that has vanished may hold the session. One that was opened while the store failed has no record, and its worker may be cut off for longer
   * than the time after which others take over what has one: its client gets a retry, and not the end of its session.
   */
  async #mayComeBack(key: SessionKey, lost: WorkerId | undefined): Promise<boolean> {
    const { peers, records } = this.#options;
    return peers.vanished.some((worker) => lost === undefined || worker === lost) && !(await records.hasEnded(key));
  }
}
