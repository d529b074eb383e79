/** Rights for a time, in the view "Approvals": requests that wait, rights in force, and the grants that the user may ask for. */
import type { Grant, GrantList } from '@omnibus/admin-api';
import { useState } from 'preact/hooks';
import { post, problemWords, remove } from '../api/ask.ts';
import { refresh, useLive } from '../api/live.ts';
import { Problem } from '../parts/basics.tsx';
import { Said } from '../parts/said.tsx';
import { Table } from '../parts/table.tsx';
import { duration } from '../words.ts';

/** Sends a change, and shows its problem. */
type Act = (change: () => Promise<unknown>) => void;

export function Grants() {
  const live = useLive<GrantList>('grants');
  const [problem, setProblem] = useState<ReturnType<typeof problemWords>>();
  const { grants = [], offers = [], at = '' } = live.value ?? {};
  const shown = grants.filter(({ state }) => state === 'active' || state === 'requested');
  if (shown.length === 0 && offers.length === 0) return null;
  const act: Act = (change) => {
    setProblem(undefined);
    change()
      .catch((error: unknown) => setProblem(problemWords(error)))
      .finally(refresh);
  };
  return (
    <section aria-label="Allowed for a time">
      <h2>Allowed for a time</h2>
      {problem !== undefined && <Problem {...problem} />}
      {shown.length > 0 && (
        <Table label="Rights for a time" head={['What', 'Who', 'Reason', 'State', 'Time left', 'By', 'You']}>
          {shown.map((each) => (
            <Row key={each.id} grant={each} at={at} act={act} />
          ))}
        </Table>
      )}
      {offers.length > 0 && <Ask offers={offers} act={act} />}
    </section>
  );
}

function Row({ grant, at, act }: { readonly grant: Grant; readonly at: string; readonly act: Act }) {
  const { id, who, principal, client, because, state, access, until, by, mayDecide, isOwn } = grant;
  const path = `grants/${encodeURIComponent(id)}`;
  const what = whatOf(grant);
  const isWaiting = state === 'requested';
  const left = isWaiting ? (access?.forMs ?? 0) : Math.max(0, until - Date.parse(at));
  return (
    <tr>
      <td class="wide">
        <Said text={what} max={120} />
      </td>
      <td class="wide">
        <Said text={`${who[0] ?? principal}${client === undefined ? '' : ` (${client})`}`} max={120} />
      </td>
      <td class="wide">
        <Said text={because ?? ''} max={200} />
      </td>
      <td>{isWaiting ? 'requested' : 'in force'}</td>
      <td class="number">{isWaiting ? `wants ${duration(left)}` : duration(left)}</td>
      <td>
        <Said text={by ?? '–'} max={80} />
      </td>
      <td>
        {mayDecide && (
          <button
            type="button"
            class="strong"
            aria-label={`Approve ${what}`}
            onClick={() => act(() => post(path, { approve: true }))}
          >
            Approve
          </button>
        )}
        {mayDecide && (
          <button type="button" aria-label={`Refuse ${what}`} onClick={() => act(() => post(path, { approve: false }))}>
            Refuse
          </button>
        )}
        {(!isWaiting || isOwn) && (
          <button
            type="button"
            aria-label={`${isWaiting ? 'Withdraw' : 'End'} ${what}`}
            onClick={() => act(() => remove(path))}
          >
            {isWaiting ? 'Withdraw' : 'End'}
          </button>
        )}
      </td>
    </tr>
  );
}

/** Times to ask for, in milliseconds. */
const usual = [15, 30, 60, 240, 480, 1_440].map((minutes) => minutes * 60_000);

function Ask({ offers, act }: { readonly offers: GrantList['offers']; readonly act: Act }) {
  const [name, setName] = useState(offers[0]?.name ?? '');
  const [because, setBecause] = useState('');
  const offer = offers.find((each) => each.name === name) ?? offers[0];
  const times = [...usual.filter((ms) => ms < (offer?.lastsMs ?? 0)), offer?.lastsMs ?? 0];
  const [chosen, choose] = useState(times[0] ?? 0);
  const forMs = times.includes(chosen) ? chosen : (times[0] ?? 0);
  const send = (event: Event): void => {
    event.preventDefault();
    act(async () => {
      await post('grants', { name: offer?.name, forMs, because: because.trim() });
      setBecause('');
    });
  };
  return (
    <form onSubmit={send}>
      <label>
        Ask for{' '}
        <select value={offer?.name} onChange={(event) => setName(event.currentTarget.value)}>
          {offers.map((each) => (
            <option key={each.name} value={each.name}>
              {each.name}
            </option>
          ))}
        </select>
      </label>{' '}
      <label>
        for{' '}
        <select value={String(forMs)} onChange={(event) => choose(Number(event.currentTarget.value))}>
          {times.map((ms) => (
            <option key={ms} value={String(ms)}>
              {duration(ms)}
            </option>
          ))}
        </select>
      </label>
      <label class="block">
        Reason of the request{' '}
        <span class="help">{offer?.because ?? 'The approver reads it, and it is on record.'}</span>
        <input
          type="text"
          required
          maxLength={500}
          value={because}
          onInput={(event) => setBecause(event.currentTarget.value)}
        />
      </label>
      <button type="submit">Ask for it</button>
    </form>
  );
}

/** The right, in the form of rules. */
function whatOf({ calls, access }: Grant): string {
  if (access !== undefined) return `grant:${access.name}`;
  return calls === undefined ? '' : `${calls.kind === undefined ? '' : `${calls.kind}:`}${calls.server}/${calls.tool}`;
}
