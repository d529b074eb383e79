/** The labels of conversations, as one session worker reads and adds them. */
import { ConversationBoard, openingAdvice, Room, type Bus, type ConversationOf } from '@omnibus/bus';
import { Proofs } from '@omnibus/identity';
import {
  fault,
  type ConversationLabel,
  type Facts,
  type GatewayFault,
  type Labels,
  type SessionKey,
} from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';
import { conversationOf, idOfSession, labelsOf, type Speaker } from './conversation.ts';
import { shareOf } from '../../call/client-of.ts';
import { WrittenConversations } from './written.ts';

const hourMs = 3_600_000;
/** A conversation of requests without sessions ends after this time without a call. */
const callerMs = hourMs;
/** A session ends on its own; this bounds what a lost worker leaves behind. */
const sessionMs = 30 * 24 * hourMs;

/** Least time between two looks for records that have expired. */
const tidyMs = 60_000;

const keepMsOf = ({ kind }: Pick<ConversationOf, 'kind'>): number => (kind === 'session' ? sessionMs : callerMs);

/** Hears which labels a conversation has got that it did not have before. */
export type LabelWatcher = (client: Speaker, conversation: string, labels: readonly ConversationLabel[]) => void;

export interface ConversationParts {
  readonly bus: Bus;
  readonly log: Logger;
  /** Verifies what edges say of callers; undefined in a gateway of one process. */
  readonly proofs: Proofs | undefined;
  readonly labelled: LabelWatcher;
}

export class Conversations {
  readonly #bus: Bus;
  readonly #log: Logger;
  readonly #proofs: Proofs | undefined;
  readonly #labelled: LabelWatcher;
  readonly #written = new WrittenConversations();
  /** Workers that are gone have left records that have expired. */
  readonly #room = new Room(async () => (await this.#board()).sweep(), tidyMs);
  #opening: Promise<ConversationBoard> | undefined;
  #tidyAt = 0;

  constructor({ bus, log, proofs, labelled }: ConversationParts) {
    this.#bus = bus;
    this.#log = log;
    this.#proofs = proofs;
    this.#labelled = labelled;
  }

  #factsOf({ asking }: Speaker): Facts | undefined {
    return Proofs.factsOf(asking, this.#proofs);
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
  async read(client: Speaker): Promise<Labels | GatewayFault> {
    try {
      const board = await this.#board();
      const of = conversationOf(client, this.#factsOf(client));
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
  async add(client: Speaker, labels: readonly ConversationLabel[]): Promise<boolean> {
    try {
      const board = await this.#board();
      const facts = this.#factsOf(client);
      const of = conversationOf(client, facts);
      const who = shareOf(client.asking, facts);
      if (of.kind === 'caller' && this.#written.isFull(who, of.id, Date.now())) {
        this.#log.warn(
          { principal: of.principal },
          'a caller has begun too many conversations in an hour; a message that would label one more is withheld',
        );
        return false;
      }
      const { record, added } = await this.#room.write(() => board.add(of, labels, keepMsOf(of)));
      if (of.kind === 'caller') this.#written.wrote(of.id, { who, until: record.until });
      void this.#tidy(board);
      if (added.length > 0) this.#labelled(client, of.id, added);
      return true;
    } catch (error) {
      this.#log.warn(
        { problem: String(error) },
        'labels of a conversation could not be recorded; the message is withheld',
      );
      return false;
    }
  }

  /** Removes the records that this worker has written and that have expired. Never rejects. */
  async #tidy(board: ConversationBoard): Promise<void> {
    const now = Date.now();
    if (now < this.#tidyAt) return;
    this.#tidyAt = now + tidyMs;
    try {
      for (const [id, { who }] of this.#written.due(now)) {
        const until = await board.drop(id);
        if (until === undefined) this.#written.forget(id);
        else this.#written.wrote(id, { who, until });
      }
    } catch (error) {
      this.#log.warn({ problem: String(error) }, 'labels of conversations that are over could not be removed yet');
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
