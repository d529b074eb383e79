/**
 * Finds the worker that holds a session, and lets another one take the session over if that worker is gone. All requests of one session
 * wait for the same search.
 */
import { subjects, type Bus, type PendingRequest, type PresenceWatch, type ReplyObserver } from '@omnibus/bus';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { AdoptReply, Presence, SessionKey } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import { workersFor } from './choose-worker.ts';
import type { SessionAddress } from './session-addresses.ts';

/** `nobody`: there is no worker that could answer. */
export type Ownership = Exclude<AdoptReply, { outcome: 'busy' }> | { readonly outcome: 'nobody' };

/** Milliseconds after which a takeover has failed. */
const searchMs = 10_000;
/** Milliseconds between two attempts while no worker can take the session: at first, and at most. */
const firstRetryMs = 50;
export const retryMs = 200;
/** Milliseconds after a loss of the connection until workers are asked again: they may have to find NATS again, too. */
const returnMs = 50;
/** Milliseconds that a worker has to answer. */
const askMs = 1_500;
/** Milliseconds after which its question is repeated, since NATS may have lost it with a node: at first. The time doubles with each repetition. */
const firstAgainMs = 100;

export interface OwnerSearchOptions {
  readonly bus: Bus;
  /** A clock with short ticks. */
  readonly soon: DeadlineWheel;
  readonly log: Logger;
  readonly workers: Pick<PresenceWatch<Presence>, 'alive'>;
}

export class OwnerSearch {
  readonly #options: OwnerSearchOptions;
  readonly #running = new Map<SessionKey, Promise<Ownership>>();

  constructor(options: OwnerSearchOptions) {
    this.#options = options;
  }

  /** @param address of the session; its known owner is gone, or no longer holds the session. */
  find(address: SessionAddress): Promise<Ownership> {
    const { key } = address;
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const { promise, resolve } = Promise.withResolvers<Ownership>();
    this.#running.set(key, promise);
    this.#ask(address, performance.now() + searchMs, 0, (found) => {
      this.#running.delete(key);
      resolve(found);
    });
    return promise;
  }

  /** @param attempt each worker is asked in turn, at once if no process listens for the one before. */
  #ask(address: SessionAddress, giveUpAt: number, attempt: number, finish: (found: Ownership) => void): void {
    const { bus, soon, log, workers } = this.#options;
    const { key, owner: lost } = address;
    const next = (): void => this.#ask(address, giveUpAt, attempt + 1, finish);
    if (performance.now() >= giveUpAt) {
      finish({ outcome: 'nobody' });
      return;
    }
    const later = (): void => void soon.schedule(Math.min(firstRetryMs * (attempt + 1), retryMs), next);
    const candidates = workersFor(
      key,
      workers.alive.filter((worker) => worker !== lost),
    );
    const isLast = candidates.length === 0 || (attempt + 1) % candidates.length === 0;
    const worker = candidates[attempt % candidates.length];
    // The question may be lost with the connection, and may be asked twice: only one of the asked workers can succeed.
    const reconnect = bus.afterReconnect(() => {
      end();
      soon.schedule(returnMs, () => this.#ask(address, giveUpAt, attempt, finish));
    });
    const limit = soon.schedule(askMs, () => {
      end();
      later();
    });
    // An answer to any of the questions counts.
    const pending: PendingRequest[] = [];
    let repetition: Deadline | undefined;
    const end = (): void => {
      limit.cancel();
      repetition?.cancel();
      reconnect.close();
      for (const each of pending) each.close();
    };
    const observer: ReplyObserver<AdoptReply> = {
      reply: (reply) => {
        end();
        if (reply.outcome === 'busy') later();
        else finish(reply);
      },
      failed: (error) => {
        end();
        // It has died, too, and its signs of life are not missed yet.
        if (error.kind === 'no-responders' && !isLast) next();
        else later();
      },
    };
    const send = (againMs: number): void => {
      if (!bus.connected) return;
      repetition = soon.schedule(againMs, () => send(2 * againMs));
      try {
        pending.push(bus.request(subjects.sessionAdopt(worker), { key, lost }, observer));
      } catch (error) {
        // The bus is closing.
        end();
        log.debug({ err: error, session: key }, 'no worker could be asked to take a session over');
        finish({ outcome: 'nobody' });
      }
    };
    send(firstAgainMs);
  }
}
