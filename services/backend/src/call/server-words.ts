/**
 * Passes on what one server says outside requests. A log message outside requests goes to the sessions of the one caller that can have caused it
 * (`connection/users.ts`). Otherwise it goes to the operator's log alone, because it may contain data of one of several callers.
 */
import { subjects, type Bus } from '@omnibus/bus';
import { TokenBucket } from '@omnibus/lifecycle';
import {
  changeKinds,
  changeNotifications,
  isCustomNotification,
  type JsonObject,
  type ServerName,
  type ServerNotice,
} from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { CatalogPublisher } from '../catalog/publisher.ts';
import type { UpstreamConnection } from '../connection/connection.ts';
import type { Audience } from '../connection/users.ts';
import type { QuestionRelay } from './question-relay.ts';

export interface ServerWordsOptions {
  readonly bus: Bus;
  readonly server: ServerName;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly catalog: CatalogPublisher;
  readonly questions: QuestionRelay;
  /** What features hear, by method. */
  readonly hears: { readonly [method: string]: (connection: UpstreamConnection, params: JsonObject) => void };
  readonly base: () => UpstreamConnection;
}

/** Lines of the operator's log about one server each second: enough to understand them, and too few to fill a disk. */
const linesPerSecond = 5;
/** Log messages and notifications outside calls for one session each second: many for a person, few for a client. */
const messagesPerSecond = 100;
/** Characters of one such line. */
const maxLineLength = 2_000;

export class ServerWords {
  readonly #options: ServerWordsOptions;
  readonly #lines = TokenBucket.perSecond(linesPerSecond);
  readonly #told = new WeakMap<UpstreamConnection, TokenBucket>();

  constructor(options: ServerWordsOptions) {
    this.#options = options;
  }

  /** @param audience the sessions that may hear it. */
  hear(connection: UpstreamConnection, method: string, params: JsonObject | undefined, audience: Audience): void {
    const { catalog, hears, questions, metrics, base } = this.#options;
    const kind = changeKinds.find((each) => changeNotifications[each] === method);
    if (kind !== undefined) {
      if (connection === base()) catalog.announced(kind);
      else catalog.announcedTo(connection);
    } else if (method === 'notifications/message' && params !== undefined) {
      this.#passLog(connection, params, audience);
    } else if (hears[method] !== undefined && params !== undefined) {
      hears[method](connection, params);
    } else if (method === 'notifications/elicitation/complete') {
      questions.announceCompletion(params);
    } else if (isCustomNotification(method) && audience.sessions.length > 0) {
      if (this.#mayTell(connection))
        this.#options.bus.publish(subjects.notices, {
          kind: 'notification',
          server: this.#options.server,
          method,
          ...(params === undefined ? {} : { params }),
          ...shownTo(audience),
        });
    } else {
      metrics.dropped('notification_unknown');
    }
  }

  #mayTell(connection: UpstreamConnection): boolean {
    const told = this.#told.get(connection) ?? TokenBucket.perSecond(messagesPerSecond);
    this.#told.set(connection, told);
    const mayTell = told.take();
    if (!mayTell) this.#options.metrics.dropped('log_storm');
    return mayTell;
  }

  #passLog(connection: UpstreamConnection, params: JsonObject, audience: Audience): void {
    const { bus, server, log } = this.#options;
    if (audience.sessions.length > 0) {
      if (this.#mayTell(connection))
        bus.publish(subjects.notices, { kind: 'log', server, params, ...shownTo(audience) });
    } else if (this.#lines.take()) {
      const left = this.#lines.takeRefused();
      log.info(
        { words: JSON.stringify(params).slice(0, maxLineLength), ...(left === 0 ? {} : { left }) },
        'the server said something of no request',
      );
    }
  }
}

function shownTo({ sessions, isOwn }: Audience): Pick<Extract<ServerNotice, { kind: 'log' }>, 'sessions' | 'isOwn'> {
  return isOwn ? { sessions, isOwn } : { sessions };
}
