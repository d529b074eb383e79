/** Labels of conversations, in the view "Sessions": the results that have added them, and a button that clears one. */
import type { LabelledConversation, LabelList } from '@omnibus/admin-api';
import { useState } from 'preact/hooks';
import { post } from '../api/ask.ts';
import { refresh, useLive } from '../api/live.ts';
import { Ago, Confirm, Shown } from '../parts/basics.tsx';
import { useChosen } from '../parts/chosen.ts';
import { may } from '../parts/may.ts';
import { Said } from '../parts/said.tsx';
import { Table } from '../parts/table.tsx';
import { hrefOf } from '../route.ts';

type Label = LabelledConversation['labels'][number];

/** A label that the user is about to clear. */
interface Chosen {
  readonly conversation: LabelledConversation;
  readonly label: Label;
}

/** Nothing is shown to a user that may not see labels, or if there are none. */
export function Labels() {
  return may().maySeeLabels ? <Labelled /> : null;
}

function Labelled() {
  const live = useLive<LabelList>('labels');
  const { chosen, choose, close, said } = useChosen<Chosen>();
  return (
    <>
      <p role="status">{said}</p>
      <Shown live={live}>
        {({ conversations, total }) =>
          conversations.length === 0 ? null : (
            <section aria-label="Labels">
              <h2>
                Labels of conversations{' '}
                {total > conversations.length && <span class="dim">the latest {conversations.length}</span>}
              </h2>
              <Table
                label="Labels of conversations"
                head={['Label', 'Since the result of', 'When', 'Who', 'Client', 'Conversation', 'You']}
              >
                {conversations.flatMap((conversation) =>
                  conversation.labels.map((label) => (
                    <Row
                      key={`${conversation.id} ${label.label}`}
                      conversation={conversation}
                      label={label}
                      choose={choose}
                    />
                  )),
                )}
              </Table>
            </section>
          )
        }
      </Shown>
      {chosen !== undefined && <Clear {...chosen} close={close} />}
    </>
  );
}

function Row({ conversation, label, choose }: Chosen & { readonly choose: (chosen: Chosen) => void }) {
  const { id, who, principal, client, session, mayClear, obstacle } = conversation;
  return (
    <tr>
      <td>
        <Said text={label.label} max={64} />
      </td>
      <td class="wide">
        <Said text={`${label.server}/${label.item}`} max={120} />
      </td>
      <td class="nowrap">
        <Ago at={new Date(label.at).toISOString()} />
      </td>
      <td class="wide">
        <Said text={who[0] ?? principal} max={80} />
      </td>
      <td>
        <Said text={client ?? '–'} max={60} />
      </td>
      <td>{session === undefined ? <code>{id}</code> : <a href={hrefOf('sessions', session)}>session {session}</a>}</td>
      <td>
        <button
          type="button"
          disabled={!mayClear}
          title={obstacle}
          aria-label={`Clear ${label.label} of ${who[0] ?? principal}`}
          onClick={() => choose({ conversation, label })}
        >
          Clear…
        </button>
      </td>
    </tr>
  );
}

function Clear({
  conversation,
  label,
  close,
}: Chosen & {
  readonly close: (done?: string) => void;
}) {
  const [reason, setReason] = useState('');
  const clear = async (): Promise<string> => {
    if (reason.trim() === '') throw new Error('Write the reason: it is on record.');
    await post(`labels/${encodeURIComponent(conversation.id)}`, { label: label.label, reason: reason.trim() });
    refresh();
    return `The label ${label.label} is cleared. A later result may add it again.`;
  };
  return (
    <Confirm title={`Clear the label "${label.label}"?`} act="Clear it" run={clear} close={close}>
      <p>
        The result of <Said text={`${label.server}/${label.item}`} max={120} /> has added it. Rules that depend on it do
        not hold for this conversation from now on.
      </p>
      <label class="block">
        Reason <span class="help">It is on record.</span>
        <input
          type="text"
          required
          maxLength={500}
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </label>
    </Confirm>
  );
}
