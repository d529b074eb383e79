/** The labels of conversations, as one session worker reads and adds them. */
import { ConversationBoard, openingAdvice, type Bus, type ConversationOf } from '@omnibus/bus';
import { fault, type ConversationLabel, type GatewayFault, type Labels, type SessionKey } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import { idOfSession, labelsOf } from './conversation.ts';

const hourMs = 3_600_000;
/** A conversation of requests without sessions ends after this time without a call. */
const callerMs = hourMs;
/** A session ends on its own; this bounds what a lost worker leaves behind. */
const sessionMs = 30 * 24 * hourMs;

const keepMsOf = ({ kind }: Pick<ConversationOf, 'kind'>): number => (kind === 'session' ? sessionMs : callerMs);

export class Conversations {
  readonly #bus: Bus;
  readonly #log: Logger;
  #opening: Promise<ConversationBoard> | undefined;

  constructor({ bus, log }: { readonly bus: Bus; readonly log: Logger }) {
    this.#bus = bus;
    this.#log = log;
  }

  /** Opened at the first use. */
  #board(): Promise<ConversationBoard> {
    if (this.#opening !== undefined) return this.#opening;
    const opening = ConversationBoard.open(this.#bus);
    this.#opening = opening;
    opening.catch((error: unknown) => {
      this.#opening = undefined;
      this.#log.error(
        { problem: String(error) },
        `labels of conversations cannot be opened on the bus: ${openingAdvice(error)}`,
      );
    });
    return opening;
  }

  /** The labels before a call, which keeps its conversation from being forgotten. @returns a fault if they cannot be read. */
  async read(of: ConversationOf): Promise<Labels | GatewayFault> {
    try {
      const board = await this.#board();
      return labelsOf(await board.keep(of, keepMsOf(of)));
    } catch (error) {
      this.#log.warn({ problem: String(error) }, 'the labels of a conversation could not be read');
      return fault(
        'flow.unavailable',
        'the labels of this conversation cannot be read now, so the request was not sent',
      );
    }
  }

  /** @returns false if they could not be recorded, so that the message that adds them must not be delivered. */
  async add(of: ConversationOf, labels: readonly ConversationLabel[]): Promise<boolean> {
    try {
      const board = await this.#board();
      await board.add(of, labels, keepMsOf(of));
      return true;
    } catch (error) {
      this.#log.warn(
        { problem: String(error) },
        'labels of a conversation could not be recorded; the message is withheld',
      );
      return false;
    }
  }

  /** Removes the labels of a session that has ended. It costs nothing at a worker at which no label was ever needed. */
  forget(session: SessionKey): void {
    if (this.#opening === undefined) return;
    void this.#opening
      .then((board) => board.forget(idOfSession(session)))
      .catch((error: unknown) =>
        this.#log.warn({ problem: String(error) }, 'the labels of an ended session could not be removed'),
      );
  }
}
