/** Lists and clears labels of conversations. */
import type { LabelledConversation } from '@omnibus/admin-api';
import { printable } from '@omnibus/protocol';
import { answerEither, answerList, runCommand } from '../output/outcome.ts';
import type { AskOptions } from './admin-port.ts';
import { askApi, queryOf } from './api.ts';

export interface ListLabelsOptions extends AskOptions {
  readonly user?: string;
  readonly client?: string;
  readonly conversation?: string;
  readonly session?: string;
  readonly label?: string;
  readonly json?: boolean;
}

export interface ClearLabelOptions extends AskOptions {
  readonly conversation: string;
  readonly reason: string;
  readonly json?: boolean;
}

export function listLabels({
  user,
  client,
  conversation,
  session,
  label,
  json = false,
  ...who
}: ListLabelsOptions): Promise<void> {
  return runCommand(json, async () => {
    const query = queryOf({ user, client, conversation, session, label });
    const { conversations, total } = await askApi(who, 'labels', `/labels${query}`);
    const rows = conversations.flatMap((each) =>
      each.labels.map(({ label: name, server, item, at }) => [
        each.id,
        name,
        `${server}/${item}`,
        new Date(at).toISOString(),
        callerOf(each),
        each.client ?? '',
        each.session ?? '',
      ]),
    );
    answerList(
      json,
      { conversations, total },
      {
        head: ['CONVERSATION', 'LABEL', 'SINCE THE RESULT OF', 'AT', 'WHO', 'CLIENT', 'SESSION'],
        rows: rows.map((row) => row.map((cell) => printable(cell, 200))),
        none: query === '' ? 'no conversation has labels' : 'no such conversation has labels',
      },
    );
  });
}

export function clearLabel(
  label: string,
  { conversation, reason, json = false, ...who }: ClearLabelOptions,
): Promise<void> {
  return runCommand(json, async () => {
    const path = `/labels/${encodeURIComponent(conversation)}`;
    const cleared = await askApi(who, 'clearLabel', path, 'POST', { label, reason });
    answerEither(
      json,
      cleared,
      `${printable(conversation)} does not have the label "${printable(label)}" any more, which the result of ${printable(`${cleared.server}/${cleared.item}`)} had added\n`,
    );
  });
}

function callerOf({ who, principal, tenant }: LabelledConversation): string {
  return `${who[0] ?? principal}${tenant === undefined ? '' : ` of ${tenant}`}`;
}
