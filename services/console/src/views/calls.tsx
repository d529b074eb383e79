/** The view "Calls": calls as they happen, and those that failed lately. */
import type { Call, Failures } from '@omnibus/admin-api';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { CallWatch } from '../api/calls.ts';
import { useLive } from '../api/live.ts';
import { Empty, Heading, Problem, Shown } from '../parts/basics.tsx';
import { Table } from '../parts/table.tsx';
import { may } from '../parts/may.ts';
import { Said } from '../parts/said.tsx';
import { Outcome, State } from '../parts/state.tsx';
import { UnknownRights } from '../parts/unknown-rights.tsx';
import { hrefOf, place, setQuery } from '../route.ts';
import { clock, count, duration, numberWords } from '../words.ts';
import { OneCall } from './one-call.tsx';
import { outcomesWords } from './outcomes.ts';

const filters = ['server', 'tool', 'client', 'minMs'] as const;

export function Calls() {
  const { item, query } = place.value;
  const asked = new URLSearchParams();
  for (const name of [...filters, 'outcome', 'payload'])
    if ((query.get(name) ?? '') !== '' && query.get(name) !== 'failed') asked.set(name, query.get(name) as string);
  return (
    <>
      <Heading>Calls</Heading>
      <Filters />
      {query.get('outcome') === 'failed' ? (
        <Failed />
      ) : may().who === '' ? (
        <UnknownRights />
      ) : may().mayWatch ? (
        <Live key={asked.toString()} query={asked} chosen={item} />
      ) : (
        <Empty why="You may not watch calls here.">
          It is for operators: <code>auth.admin.roles</code> says who is one.
        </Empty>
      )}
      {query.get('outcome') === 'failed' && item !== undefined && <OneCall key={item} tag={item} events={[]} />}
    </>
  );
}

function Filters() {
  const { query } = place.value;
  const { mayPayloads } = may();
  const words = { server: 'Server', tool: 'Tool', client: 'Client', minMs: 'Longer than (ms)' } as const;
  return (
    <div class="filters">
      {filters.map((name) => (
        <label key={name}>
          {words[name]}{' '}
          <input
            type="search"
            size={12}
            value={query.get(name) ?? ''}
            placeholder="any"
            onChange={(event) =>
              setQuery({
                [name]:
                  name === 'minMs' ? event.currentTarget.value.replaceAll(/\D/g, '') : event.currentTarget.value.trim(),
              })
            }
          />
        </label>
      ))}
      <label>
        Outcome{' '}
        <select
          value={query.get('outcome') ?? ''}
          onChange={(event) => setQuery({ outcome: event.currentTarget.value })}
        >
          <option value="">any</option>
          <option value="failed">failed lately, watched or not</option>
          {Object.entries(outcomesWords).map(([outcome, text]) => (
            <option key={outcome} value={outcome}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label>
        Payload{' '}
        <select
          value={query.get('payload') ?? ''}
          onChange={(event) => setQuery({ payload: event.currentTarget.value })}
        >
          <option value="">sizes</option>
          <option value="shape">names and types</option>
          {mayPayloads && <option value="redacted">values, less secrets</option>}
        </select>
      </label>
    </div>
  );
}

function Live({ query, chosen }: { readonly query: URLSearchParams; readonly chosen: string | undefined }) {
  const watch = useMemo(() => new CallWatch(query), []);
  useEffect(() => () => watch.end(), [watch]);
  const now = watch.state.value;
  const [isPaused, setPaused] = useState(false);
  const held = useRef<readonly Call[]>([]);
  // While paused, the list stays as it is; new calls are only counted.
  if (!isPaused) held.current = now.calls;
  const unseen = isPaused ? now.calls.filter(({ tag }) => !held.current.some((call) => call.tag === tag)).length : 0;
  return (
    <>
      <div class="buttons">
        {now.isOpen ? (
          <State tone="good" shape="▶" word={isPaused ? 'paused here' : 'live'} />
        ) : (
          <State tone="off" shape="○" word={now.problem === undefined ? 'connecting' : 'not watching'} />
        )}
        <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? `Go on${unseen > 0 ? ` (${numberWords(unseen)} new)` : ''}` : 'Pause'}
        </button>
        {now.dropped > 0 && (
          <span class="dim">{count(now.dropped, 'call')} not shown: there were more than 50 a second</span>
        )}
      </div>
      {now.problem !== undefined && <Problem {...now.problem} />}
      {!now.isOpen && held.current.length === 0 ? (
        now.problem === undefined && <p class="waiting">asking…</p>
      ) : held.current.length === 0 ? (
        <Empty why="No call has come since this page began to watch.">
          {query.size > 1 ? 'A filter is set. ' : ''}Calls are seen from the moment the page is open.{' '}
          <a href={hrefOf('try')}>Try a tool</a> in another tab, or ask something of a client.
        </Empty>
      ) : (
        <List calls={held.current} chosen={chosen} />
      )}
      {chosen !== undefined && <OneCall key={chosen} tag={chosen} events={watch.eventsOf(chosen)} />}
    </>
  );
}

function Failed() {
  const failures = useLive<Failures>('failures');
  return (
    <Shown live={failures}>
      {({ failures: all }) =>
        all.length === 0 ? (
          <Empty why="Nothing has failed since the processes began." />
        ) : (
          <List calls={all} chosen={place.value.item} />
        )
      }
    </Shown>
  );
}

const isRunning = ({ state, outcome }: Call): boolean =>
  outcome === undefined && state !== undefined && state !== 'ended';

function progressWords({ done, total }: NonNullable<Call['progress']>): string {
  return total === undefined ? numberWords(done) : `${numberWords(done)} of ${numberWords(total)}`;
}

/** The time, each second while something runs. @returns milliseconds since 1970. */
function useNow(isNeeded: boolean): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = isNeeded ? setInterval(() => setNow(Date.now()), 1_000) : undefined;
    return () => clearInterval(timer);
  }, [isNeeded]);
  return now;
}

function List({ calls, chosen }: { readonly calls: readonly Call[]; readonly chosen: string | undefined }) {
  const now = useNow(calls.some(isRunning));
  const tookBy = (call: Call): number | undefined =>
    call.ms ?? (isRunning(call) ? Math.max(0, now - call.at) : undefined);
  const longest = Math.max(1, ...calls.map((call) => tookBy(call) ?? 0));
  const query = Object.fromEntries(place.value.query);
  return (
    <Table label="Calls" head={['When', 'Client', 'What', 'Outcome', 'Took', 'Beside the longest']}>
      {calls.map((call) => {
        const took = tookBy(call);
        return (
          <tr key={call.tag} class={call.tag === chosen ? 'chosen' : undefined}>
            <td class="number">
              <a href={hrefOf('calls', call.tag, query)} aria-current={call.tag === chosen ? 'true' : undefined}>
                {clock(call.at)}
              </a>
            </td>
            <td>
              <Said text={call.client ?? '–'} max={40} />
            </td>
            <td>
              {call.run !== undefined && (
                <span class="dim" title="made by a script or a composite tool">
                  ↳{' '}
                </span>
              )}
              <Said
                text={
                  call.server === undefined
                    ? `${call.method} ${call.name ?? ''}`
                    : `${call.server}/${call.tool ?? call.method}`
                }
                max={100}
              />
            </td>
            <td>
              <Outcome outcome={call.outcome} state={call.state} />
              {call.outcome === undefined && call.progress !== undefined && (
                <span class="dim"> {progressWords(call.progress)}</span>
              )}{' '}
              {call.problem !== undefined && <Said text={call.problem} max={100} />}
            </td>
            <td class="number">{took === undefined ? '' : duration(took)}</td>
            <td>
              <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                <rect width={(100 * (took ?? 0)) / longest} height="8" />
              </svg>
            </td>
          </tr>
        );
      })}
    </Table>
  );
}
