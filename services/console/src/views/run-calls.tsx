/** The calls that a script or a composite tool has made: their state, when they ran, and the size of their results. */
import type { Call } from '@omnibus/admin-api';
import { Empty } from '../parts/basics.tsx';
import { Said } from '../parts/said.tsx';
import { Outcome } from '../parts/state.tsx';
import { type Columns, sorted, Table } from '../parts/table.tsx';
import { hrefOf, place } from '../route.ts';
import { bytes, count, duration, numberWords } from '../words.ts';
import { placesIn } from './run-places.ts';

const label = 'Calls of this run';
const columns: Columns<Call> = {
  Began: ({ at }) => at,
  Tool: toolOf,
  Took: ({ ms }) => ms,
  Result: ({ bytes }) => bytes,
};

/** @param run the call of the script. @param calls in the order in which they began. */
export function RunCalls({ run, calls }: { readonly run: Call; readonly calls: readonly Call[] }) {
  const query = Object.fromEntries(place.value.query);
  const places = placesIn(run, calls);
  const failed = calls.filter(({ outcome }) => outcome !== undefined && outcome !== 'result').length;
  const size = calls.reduce((sum, call) => sum + (call.bytes ?? 0), 0);
  return (
    <>
      <h3>{label}</h3>
      {calls.length === 0 ? (
        <Empty why={run.outcome === undefined ? 'It has called no tool yet.' : 'It has called no tool.'}>
          A call that came while this view was not open is left out.
        </Empty>
      ) : (
        <>
          <p class="dim">
            {count(calls.length, 'call')}
            {failed > 0 && `, ${numberWords(failed)} without a result`}. Their results have {bytes(size)}; the answer of
            the run {run.bytes === undefined ? 'is not there yet' : `has ${bytes(run.bytes)}`}.
          </p>
          <Table
            label={label}
            head={['Began', 'Tool', 'Outcome', 'When', 'Took', 'Result']}
            sortable={columns as Columns<never>}
          >
            {sorted(label, calls, columns).map((call) => {
              const { from, width } = places.get(call.tag) ?? { from: 0, width: 0 };
              return (
                <tr key={call.tag}>
                  <td class="number">
                    <a href={hrefOf('calls', call.tag, query)}>+{duration(Math.max(0, call.at - run.at))}</a>
                  </td>
                  <td class="name">
                    <Said text={toolOf(call)} max={100} />
                  </td>
                  <td>
                    <Outcome outcome={call.outcome} state={call.state} />{' '}
                    {call.problem !== undefined && <Said text={call.problem} max={100} />}
                  </td>
                  <td class="wide">
                    <svg class="fall work" viewBox="0 0 1000 12" preserveAspectRatio="none" aria-hidden="true">
                      <line x1="0" x2="1000" y1="11" y2="11" />
                      <rect x={from} width={width} y="1" height="9" />
                    </svg>
                  </td>
                  <td class="number">{call.ms === undefined ? 'not over' : duration(call.ms)}</td>
                  <td class="number">{call.bytes === undefined ? '–' : bytes(call.bytes)}</td>
                </tr>
              );
            })}
          </Table>
        </>
      )}
    </>
  );
}

function toolOf({ server, tool, name, method }: Call): string {
  return server === undefined ? (name ?? method) : `${server}/${tool ?? method}`;
}
