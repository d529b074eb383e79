/** The view "Topology": the processes of the gateway, what each holds, and its connection to the bus. */
import type { ProcessRow, Processes } from '@omnibus/admin-api';
import { useLive } from '../api/live.ts';
import { Ago, Empty, Heading, Shown } from '../parts/basics.tsx';
import { sorted, Table, type Columns } from '../parts/table.tsx';
import { Missing } from '../parts/missing.tsx';
import { Said } from '../parts/said.tsx';
import { State } from '../parts/state.tsx';
import { hrefOf } from '../route.ts';
import { count } from '../words.ts';

export function Topology() {
  const processes = useLive<Processes>('processes');
  return (
    <>
      <Heading aside={processes.value !== undefined && count(processes.value.processes.length, 'process', 'processes')}>
        Topology
      </Heading>
      <Shown live={processes}>
        {({ processes: all, missing }) => (
          <>
            <Missing missing={missing} />
            {all.length === 0 ? (
              <Empty why="No process answers." />
            ) : (
              <>
                <List processes={all} />
                <Picture processes={all} />
                <Differences processes={all} />
              </>
            )}
          </>
        )}
      </Shown>
    </>
  );
}

const sortable: Columns<ProcessRow> = {
  Process: ({ process }) => process,
  Role: ({ role }) => role,
  State: ({ problems }) => problems.length,
  Up: ({ startedAt }) => Date.now() - Date.parse(startedAt),
  Version: ({ version }) => version,
  Where: ({ host }) => host,
};

function List({ processes }: { readonly processes: readonly ProcessRow[] }) {
  return (
    <Table
      label="Processes"
      head={['Process', 'Role', 'State', 'Up', 'Holds', 'Bus', 'Version', 'Where']}
      sortable={sortable}
    >
      {sorted('Processes', processes, sortable).map((each) => (
        <tr key={each.process} class={each.isThis ? 'chosen' : undefined}>
          <td>
            <code>{each.process}</code>
            {each.isThis && <span class="dim"> this one</span>}
          </td>
          <td>{each.role}</td>
          <td>
            {each.problems.length === 0 ? (
              <State tone="good" shape="●" word="serving" />
            ) : (
              <>
                <State tone="warn" shape="◐" word="not ready" /> <Said text={each.problems.join('; ')} max={200} />
              </>
            )}
          </td>
          <td class="nowrap">
            <Ago at={each.startedAt} isSince />
          </td>
          <td>{holds(each)}</td>
          <td class="nowrap">
            {each.bus.isConnected ? (
              <State tone="good" shape="●" word={each.bus.kind} />
            ) : (
              <State tone="bad" shape="✗" word={`${each.bus.kind}, not connected`} />
            )}
            {each.bus.reconnects > 0 && <span class="dim"> {count(each.bus.reconnects, 'reconnect')}</span>}
          </td>
          <td>{each.version}</td>
          <td>
            <Said text={`${each.host}, pid ${each.pid}`} max={80} />
            {each.endpoint !== undefined && (
              <>
                {' '}
                <code>{each.endpoint}</code>
              </>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function sessionsOf({ sessions }: ProcessRow): number | undefined {
  return sessions === undefined ? undefined : Object.values(sessions).reduce((sum, each) => sum + each, 0);
}

function holds(process: ProcessRow): string {
  const sessions = sessionsOf(process);
  const parts = [
    sessions === undefined ? '' : count(sessions, 'session'),
    process.servers === undefined ? '' : count(process.servers, 'server'),
    process.endpoint === undefined ? '' : 'clients',
  ];
  return parts.filter((part) => part !== '').join(', ') || 'nothing';
}

const columns = [
  ['edge', 'clients'],
  ['session', 'sessions'],
  ['backend', 'servers'],
] as const;

/** A picture of the processes. It says less than the table, and is hidden from screen readers. */
function Picture({ processes }: { readonly processes: readonly ProcessRow[] }) {
  if (processes.length < 2)
    return <p class="dim">One process does everything: edge, session and backend talk within it.</p>;
  const rows = Math.max(1, ...columns.map(([role]) => processes.filter((each) => each.role === role).length));
  const height = rows * 34 + 40;
  return (
    <figure>
      <svg class="topology" viewBox={`0 0 760 ${height}`} aria-hidden="true">
        <rect x="20" y={height - 20} width="720" height="10" rx="5" class="bus" />
        {columns.map(([role], column) =>
          processes
            .filter((each) => each.role === role)
            .slice(0, 40)
            .map((each, row) => (
              <g key={each.process} class={each.problems.length === 0 ? 'well' : 'ill'}>
                <line x1={140 + column * 240} x2={140 + column * 240} y1={8 + row * 34 + 26} y2={height - 20} />
                <rect x={30 + column * 240} y={8 + row * 34} width="220" height="26" rx="5" />
                <text
                  x={40 + column * 240}
                  y={26 + row * 34}
                >{`${each.problems.length === 0 ? '●' : '◐'} ${role} · ${holds(each)}`}</text>
              </g>
            )),
        )}
      </svg>
      <figcaption class="dim">
        Clients come to edges, edges to sessions, sessions to backends, all over the bus ({processes[0]?.bus.kind}).
      </figcaption>
    </figure>
  );
}

function Differences({ processes }: { readonly processes: readonly ProcessRow[] }) {
  const files = Map.groupBy(processes, ({ configuration }) => configuration);
  if (files.size < 2) return null;
  return (
    <p class="missing">
      <State tone="warn" shape="!" word="not alike" />{' '}
      {[...files].map(([digest, of]) => `${of.map(({ process }) => process).join(', ')}: ${digest}`).join(' · ')}.
      Processes run different configurations. <a href={hrefOf('configuration')}>What is in force here</a>
    </p>
  );
}
