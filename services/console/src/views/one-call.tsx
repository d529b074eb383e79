/** The details of one call: its outcome, where its time went, and how to make it again. */
import type { CallPage, Replay, Servers, TapEvent } from '@omnibus/admin-api';
import { callOf, sentArguments } from '@omnibus/admin-api/calls';
import { useState } from 'preact/hooks';
import { get, problemWords } from '../api/ask.ts';
import { useLive } from '../api/live.ts';
import { Command, Copy, Empty, Problem, Shown } from '../parts/basics.tsx';
import { Table } from '../parts/table.tsx';
import { Missing } from '../parts/missing.tsx';
import { Said } from '../parts/said.tsx';
import { Outcome } from '../parts/state.tsx';
import { go, hrefOf, place } from '../route.ts';
import { asText, clock, duration } from '../words.ts';
import { commandFor, curlFor } from './copies.ts';
import { RunCalls } from './run-calls.tsx';
import { stretchesOf, type Stretch } from './waterfall.ts';

/** @param events those that the page has received already. */
export function OneCall({ tag, events }: { readonly tag: string; readonly events: readonly TapEvent[] }) {
  const page = useLive<CallPage>(`calls/${encodeURIComponent(tag)}`);
  const heard = (page.value?.events.length ?? 0) >= events.length ? (page.value?.events ?? []) : events;
  return (
    <section class="detail" aria-label="One call">
      <h2>
        Call <code>{tag.slice(0, 12)}</code>
      </h2>
      {page.value !== undefined && <Missing missing={page.value.missing} />}
      {heard.length > 0 ? (
        <Known events={heard} inner={page.value?.inner ?? []} />
      ) : (
        <Shown live={page}>
          {({ call }) => (
            <>
              <p>
                <Outcome outcome={call.outcome} /> <Said text={call.problem ?? ''} max={600} />
              </p>
              <Empty why="Nobody watched this call, so where its time went is not known.">
                It failed, and that is kept. Watch, and make it again.
              </Empty>
              <Again call={call} args={undefined} />
            </>
          )}
        </Shown>
      )}
    </section>
  );
}

function Known({ events, inner }: { readonly events: readonly TapEvent[]; readonly inner: CallPage['inner'] }) {
  const call = callOf(events);
  const { stretches, total } = stretchesOf(events);
  return (
    <>
      <p>
        <Outcome outcome={call.outcome} state={call.state} />{' '}
        {call.server !== undefined && <a href={hrefOf('servers', call.server)}>{call.server}</a>}{' '}
        <Said text={call.tool ?? call.name ?? call.method} max={120} />{' '}
        {call.ms !== undefined && <strong>{duration(call.ms)}</strong>}{' '}
        {call.problem !== undefined && <Said text={call.problem} max={600} />}
        {call.reason !== undefined && (
          <>
            {' '}
            <code>{call.reason}</code>
          </>
        )}
      </p>
      {call.run !== undefined && (
        <p>
          Made by{' '}
          <a href={hrefOf('calls', call.run, Object.fromEntries(place.value.query))}>a script or a composite tool</a>.
        </p>
      )}
      <Again call={call} args={sentArguments(events)} />
      {call.runs === true && <RunCalls run={call} calls={inner} />}
      <Waterfall stretches={stretches} total={total} />
      <details>
        <summary>{events.length} events</summary>
        <Table label="Events" head={['When', 'Process', 'From', 'What', 'More']}>
          {events
            .toSorted((one, other) => one.at - other.at)
            .map((event, index) => {
              const { tag: _tag, at, process, from, what, ...more } = event;
              return (
                <tr key={index}>
                  <td class="number">{clock(at)}</td>
                  <td>
                    <code>{process}</code>
                  </td>
                  <td>{from}</td>
                  <td>{what}</td>
                  <td class="wide">
                    <Said
                      text={Object.entries(more)
                        .map(([name, value]) => `${name}: ${asText(value)}`)
                        .join(', ')}
                      max={400}
                    />
                  </td>
                </tr>
              );
            })}
        </Table>
      </details>
    </>
  );
}

function Waterfall({ stretches, total }: { readonly stretches: readonly Stretch[]; readonly total: number }) {
  const longest = stretches
    .filter(({ what }) => what !== 'request' && what !== 'exchange')
    .reduce<Stretch | undefined>(
      (most, each) => (most === undefined || each.to - each.from > most.to - most.from ? each : most),
      undefined,
    );
  const scale = total === 0 ? 0 : 1_000 / total;
  return (
    <Table label="Where the time went" head={['Process', 'What', 'Time', 'Took', 'More']}>
      {stretches.map((each, index) => (
        <tr key={index}>
          <td class="nowrap">
            <code>{each.process}</code>
          </td>
          <td class="words">
            {each.what}
            {each === longest && <span class="dim"> ← longest</span>}
          </td>
          <td class="wide">
            <svg class={`fall ${each.kind}`} viewBox="0 0 1000 12" preserveAspectRatio="none" aria-hidden="true">
              <line x1="0" x2="1000" y1="11" y2="11" />
              <rect x={each.from * scale} width={Math.max(4, (each.to - each.from) * scale)} y="1" height="9" />
            </svg>
          </td>
          <td class="number">{each.isOpen ? 'not over' : duration(each.to - each.from)}</td>
          <td class="words">
            <Said text={each.detail} max={160} />
            {each.isShifted && (
              <span class="dim" title="its clock differs: it was moved to what caused it">
                {' '}
                clock moved
              </span>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

interface AgainProps {
  readonly call: CallPage['call'];
  /** JSON of its arguments, if they are known. */
  readonly args: string | undefined;
}

/** Makes the call again, at its server or another one, and commands that do. Its arguments are filled in if their values were watched and none was hidden. */
function Again({ call: { tag, name, tool, endpoint = '', method, server }, args }: AgainProps) {
  const servers = useLive<Servers>('servers');
  const [other, setOther] = useState('');
  const [problem, setProblem] = useState<ReturnType<typeof problemWords>>();
  if (method !== 'tools/call' || (name ?? tool) === undefined) return null;
  const copied = name === undefined ? undefined : { name, args: args ?? '{}', endpoint };
  const replay = async (): Promise<void> => {
    try {
      const found = await get<Replay>(
        `calls/${encodeURIComponent(tag)}/replay${other === '' ? '' : `?${new URLSearchParams({ server: other }).toString()}`}`,
      );
      go(hrefOf('try', found.name, { endpoint: found.endpoint, arguments: found.arguments ?? args }));
    } catch (error) {
      setProblem(problemWords(error));
    }
  };
  const others = (servers.value?.servers ?? []).filter((each) => each.name !== server && each.state !== 'disabled');
  return (
    <>
      <div class="buttons">
        <button type="button" onClick={() => void replay()}>
          Replay{args === undefined && ' (fill in the arguments)'}
        </button>
        {server !== undefined && (
          <label>
            at{' '}
            <select
              value={other}
              onChange={(event) => {
                setOther(event.currentTarget.value);
                setProblem(undefined);
              }}
            >
              <option value="">the same server</option>
              {others.map((each) => (
                <option key={each.name} value={each.name}>
                  {each.name}
                </option>
              ))}
            </select>
          </label>
        )}
        {copied !== undefined && (
          <>
            <Copy text={curlFor(copied, 'http://127.0.0.1:7300/mcp')} label="copy as curl" />
            <Command text={commandFor(copied)} />
          </>
        )}
      </div>
      {problem !== undefined && <Problem {...problem} />}
    </>
  );
}
