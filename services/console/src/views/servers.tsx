/** The view "Servers": the state of each server, since when and why, with its lines of stderr. */
import type { ServerRow, Servers as Answer } from '@omnibus/admin-api';
import { useState } from 'preact/hooks';
import { useLive } from '../api/live.ts';
import { Ago, Command, Empty, Heading, Shown } from '../parts/basics.tsx';
import { sorted, Table, type Columns } from '../parts/table.tsx';
import { Missing } from '../parts/missing.tsx';
import { Unfit } from '../parts/found.tsx';
import { Said } from '../parts/said.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { ServerState } from '../parts/state.tsx';
import { hrefOf, place } from '../route.ts';
import { count, duration, numberWords } from '../words.ts';
import { AddServer } from './add-server.tsx';
import { OneServer, reasonOf } from './one-server.tsx';

export function Servers() {
  const servers = useLive<Answer>('servers');
  const { item, query } = place.value;
  const [isAdding, setAdding] = useState(false);
  const [done, setDone] = useState<string>();
  const wanted = (query.get('q') ?? '').toLowerCase();
  return (
    <>
      <Heading aside={servers.value !== undefined && <span>{tally(servers.value.servers)}</span>}>Servers</Heading>
      <p role="status">{done}</p>
      <Shown live={servers}>
        {({ servers: all, missing }) => (
          <>
            <Missing missing={missing} />
            {all.length === 0 ? (
              <Empty why="No servers are configured.">
                <button type="button" class="strong" onClick={() => setAdding(true)}>
                  Add a server…
                </button>{' '}
                <Command text="omnibus import" /> takes those of your other clients over; or name one under{' '}
                <code>mcpServers</code>.
              </Empty>
            ) : (
              <>
                <div class="filters">
                  <SearchField label="Filter" placeholder="name, state, problem" />
                  <button type="button" onClick={() => setAdding(true)}>
                    Add a server…
                  </button>
                </div>
                <List
                  servers={all
                    .filter((server) =>
                      `${server.name} ${server.state} ${server.problem ?? ''}`.toLowerCase().includes(wanted),
                    )
                    .toSorted((one, other) => urgency(one) - urgency(other))}
                  chosen={item}
                />
              </>
            )}
          </>
        )}
      </Shown>
      {item !== undefined && <OneServer key={item} name={item} />}
      {isAdding && (
        <AddServer
          close={(said) => {
            setAdding(false);
            setDone(said);
          }}
        />
      )}
    </>
  );
}

/** Servers in trouble come first; the others keep the order of the configuration. */
const urgency = ({ state, problem, held }: ServerRow): number =>
  state === 'down' ? 0 : state === 'unknown' ? 1 : held > 0 || problem !== undefined ? 2 : 3;

function tally(servers: readonly ServerRow[]): string {
  return [...Map.groupBy(servers, ({ state }) => state)].map(([state, of]) => `${of.length} ${state}`).join(' · ');
}

const columns: Columns<ServerRow> = {
  Server: ({ name }) => name,
  State: ({ state }) => state,
  Era: ({ era }) => era,
  Tools: ({ tools }) => tools,
  'Runs / waits': ({ running, waiting }) => running + waiting,
  p50: ({ rates }) => rates?.p50,
  p95: ({ rates }) => rates?.p95,
  Failed: ({ rates }) => (rates === undefined || rates.calls === 0 ? undefined : rates.failed / rates.calls),
};

function List({ servers, chosen }: { readonly servers: readonly ServerRow[]; readonly chosen: string | undefined }) {
  if (servers.length === 0) return <Unfit why="No server fits the filter." />;
  return (
    <Table
      label="Servers"
      head={['Server', 'State', 'Why', 'Era', 'Tools', 'Runs / waits', 'p50', 'p95', 'Failed']}
      sortable={columns}
    >
      {sorted('Servers', servers, columns).map((server) => (
        <Row key={server.name} server={server} isChosen={server.name === chosen} />
      ))}
    </Table>
  );
}

function Row({ server, isChosen }: { readonly server: ServerRow; readonly isChosen: boolean }) {
  const { name, state, since, era, running, waiting, rates } = server;
  const timeOf = (ms: number | undefined): string => (ms === undefined ? '–' : duration(ms));
  return (
    <tr class={isChosen ? 'chosen' : undefined}>
      <td>
        <a href={hrefOf('servers', name)} aria-current={isChosen ? 'true' : undefined}>
          {name}
        </a>
      </td>
      <td class="nowrap">
        <ServerState state={state} />{' '}
        {since !== undefined && (
          <span class="dim">
            <Ago at={since} isSince />
          </span>
        )}
      </td>
      <td class="wide">
        <Said text={reasonOf(server)} max={240} />
      </td>
      <td>{era ?? '–'}</td>
      <td class="number">
        <Tools {...server} />
      </td>
      <td class="number">
        {running} / {waiting}
      </td>
      <td class="number">{timeOf(rates?.p50)}</td>
      <td class="number">{timeOf(rates?.p95)}</td>
      <td class="number">
        {rates === undefined || rates.calls === 0 ? '–' : `${((100 * rates.failed) / rates.calls).toFixed(1)} %`}
      </td>
    </tr>
  );
}

function Tools({ tools, held, signIns }: ServerRow) {
  return (
    <>
      {numberWords(tools)}
      {held > 0 && (
        <span class="warn-text" title="entries that wait to be approved">
          {' '}
          +{held} held
        </span>
      )}
      {signIns !== undefined && (
        <span class="dim" title="users who have yet to sign in">
          {' '}
          {count(signIns, 'sign-in')} wanted
        </span>
      )}
    </>
  );
}
