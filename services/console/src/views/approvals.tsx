/** The view "Approvals": calls that wait for approvers, and what became of those of the last day. */
import type { Approvals as Answer } from '@omnibus/admin-api';
import { useState } from 'preact/hooks';
import { refresh, useLive } from '../api/live.ts';
import { Ago, Command, Empty, Heading, Shown } from '../parts/basics.tsx';
import { Table } from '../parts/table.tsx';
import { Missing } from '../parts/missing.tsx';
import { Said } from '../parts/said.tsx';
import { ApprovalState } from '../parts/state.tsx';
import { go, hrefOf, place, setQuery } from '../route.ts';
import { count, duration, numberWords } from '../words.ts';
import { Grants } from './grants.tsx';
import { OneApproval } from './one-approval.tsx';
import { targetOf, whoOf } from './waiting-call.ts';

export function Approvals() {
  const { item, query } = place.value;
  const cursor = query.get('cursor') ?? '';
  const approvals = useLive<Answer>(`approvals${cursor === '' ? '' : `?cursor=${encodeURIComponent(cursor)}`}`);
  const [said, setSaid] = useState('');
  const waiting = approvals.value?.waiting;
  const decided = (id: string, words: string): void => {
    setSaid(words);
    refresh();
    go(hrefOf('approvals'));
    // The buttons that had the focus are gone: it goes to the next call that waits, where there is one.
    const next = [...document.querySelectorAll<HTMLElement>('main a[data-waits]')].find(
      (link) => link.dataset['waits'] !== id,
    );
    (next ?? document.querySelector<HTMLElement>('main h1'))?.focus();
  };
  return (
    <>
      <Heading
        aside={
          <span role="status">
            {waiting !== undefined &&
              (waiting === 0 ? 'no call waits' : `${count(waiting, 'call')} ${waiting === 1 ? 'waits' : 'wait'}`)}
          </span>
        }
      >
        Approvals
      </Heading>
      <p role="status">{said}</p>
      <Shown live={approvals}>
        {(value) => (
          <>
            <Missing missing={value.missing} />
            <Waiting {...value} chosen={item} />
            {item !== undefined && <OneApproval key={item} id={item} decided={decided} />}
            <Grants />
            <Over {...value} chosen={item} />
            {value.next !== undefined && (
              <button
                type="button"
                onClick={() => setQuery({ cursor: value.next ?? '' })}
              >{`The next of ${numberWords(value.total)}`}</button>
            )}
            {cursor !== '' && (
              <button type="button" onClick={() => setQuery({ cursor: '' })}>
                The first again
              </button>
            )}
          </>
        )}
      </Shown>
    </>
  );
}

function Waiting({ approvals, at, chosen }: Answer & { readonly chosen: string | undefined }) {
  const waiting = approvals.filter(({ state }) => state === 'waiting');
  if (waiting.length === 0) {
    return (
      <Empty why="No call waits to be approved.">
        A call waits here when a rule under <code>access</code> says <code>ask</code> with <code>approvers</code>. A
        call that its caller may approve is asked about in the client. <Command text="omnibus policy explain" /> says
        which rule a call meets.
      </Empty>
    );
  }
  return (
    <Table label="Calls that wait" head={['What', 'Who', 'Why', 'Arguments', 'Time left', 'You']}>
      {waiting.map((each) => (
        <tr key={each.id} class={each.id === chosen ? 'chosen' : undefined}>
          <td class="wide">
            <a
              href={hrefOf('approvals', each.id)}
              data-waits={each.id}
              aria-current={each.id === chosen ? 'true' : undefined}
            >
              <Said text={targetOf(each)} max={80} />
            </a>
          </td>
          <td class="wide">
            <Said text={whoOf(each)} max={80} />
          </td>
          <td>
            <code>
              <Said text={each.rule} max={60} />
            </code>{' '}
            {each.because !== undefined && <Said text={each.because} max={120} />}
          </td>
          <td class="wide">
            <code>
              <Said text={each.arguments} max={100} />
            </code>
          </td>
          <td class="number">{duration(Math.max(0, each.until - Date.parse(at)))}</td>
          <td>{each.mayDecide ? 'may decide' : <span class="dim">may not decide</span>}</td>
        </tr>
      ))}
    </Table>
  );
}

function Over({ approvals, chosen }: Answer & { readonly chosen: string | undefined }) {
  const over = approvals.filter(({ state }) => state !== 'waiting');
  if (over.length === 0) return null;
  return (
    <section aria-label="Decided">
      <h2>
        Decided, expired and withdrawn <span class="dim">in the last day</span>
      </h2>
      <Table label="Calls that do not wait any more" head={['When', 'What', 'Who', 'State', 'By', 'Reason']}>
        {over.map((each) => (
          <tr key={each.id} class={each.id === chosen ? 'chosen' : undefined}>
            <td>
              <Ago at={new Date(each.at).toISOString()} />
            </td>
            <td>
              <a href={hrefOf('approvals', each.id)} aria-current={each.id === chosen ? 'true' : undefined}>
                <Said text={targetOf(each)} max={80} />
              </a>
            </td>
            <td>
              <Said text={whoOf(each)} max={80} />
            </td>
            <td>
              <ApprovalState state={each.state} />
            </td>
            <td>
              <Said text={each.by ?? '–'} max={80} />
            </td>
            <td>
              <Said text={each.reason ?? ''} max={120} />
            </td>
          </tr>
        ))}
      </Table>
    </section>
  );
}
