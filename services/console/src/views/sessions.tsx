/** The view "Sessions": the clients with a session, and the process that holds it. */
import type { Ended, RecentClient, SessionPage, SessionRow, Sessions as Answer } from '@omnibus/admin-api';
import { useState } from 'preact/hooks';
import { remove } from '../api/ask.ts';
import { refresh, useLive } from '../api/live.ts';
import { Confirm, Empty, Fact, Heading, Shown } from '../parts/basics.tsx';
import { sorted, Table, type Columns } from '../parts/table.tsx';
import { useBrought } from '../parts/brought.ts';
import { Missing } from '../parts/missing.tsx';
import { OperatorButton } from '../parts/operator-button.tsx';
import { Unfit } from '../parts/found.tsx';
import { Said } from '../parts/said.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { go, hrefOf, place, setQuery } from '../route.ts';
import { count, duration, numberWords } from '../words.ts';
import { Labels } from './labels.tsx';

export function Sessions() {
  const { item, query } = place.value;
  const asked = new URLSearchParams(
    [...query].filter(([name, value]) => ['client', 'endpoint', 'cursor'].includes(name) && value !== ''),
  );
  const sessions = useLive<Answer>(`sessions?${asked.toString()}`);
  const [said, setSaid] = useState('');
  const isFiltered = (query.get('client') ?? '') !== '';
  return (
    <>
      <Heading aside={sessions.value !== undefined && count(sessions.value.total, 'session')}>Sessions</Heading>
      <SearchField label="Client" name="client" clears={['cursor']} placeholder="its name" isAlone />
      <p role="status">{said}</p>
      <Shown live={sessions}>
        {(value) => (
          <>
            <Missing missing={value.missing} />
            {value.sessions.length + value.clients.length === 0 ? (
              isFiltered ? (
                <Unfit why="No client of that name is there." query={{ client: '', cursor: '' }} />
              ) : (
                <Empty why="No client is connected.">
                  <a href={hrefOf('connect')}>Connect one</a>: there is a button for each client.
                </Empty>
              )
            ) : (
              <>
                {value.sessions.length > 0 && <List {...value} chosen={item} />}
                {value.clients.length > 0 && <WithoutSession clients={value.clients} />}
              </>
            )}
          </>
        )}
      </Shown>
      <Labels />
      {item !== undefined && <One key={item} name={item} ended={setSaid} />}
    </>
  );
}

const columns: Columns<SessionRow> = {
  Client: nameOf,
  Revision: ({ revision }) => revision,
  Endpoint: ({ endpoint }) => endpoint,
  Who: ({ principal }) => principal,
  Streams: ({ streams }) => streams,
  Open: ({ open }) => open,
  Idle: ({ idleMs }) => idleMs,
  'Held by': ({ process }) => process,
};

function List({ sessions, next, total, chosen }: Answer & { readonly chosen: string | undefined }) {
  return (
    <>
      <Table
        label="Sessions"
        head={['Client', 'Revision', 'Endpoint', 'Who', 'May be asked', 'Streams', 'Open', 'Idle', 'Held by']}
        sortable={columns}
      >
        {sorted('Sessions', sessions, columns).map((session) => (
          <tr key={session.key} class={session.key === chosen ? 'chosen' : undefined}>
            <td>
              <a href={hrefOf('sessions', session.key)} aria-current={session.key === chosen ? 'true' : undefined}>
                <Said text={nameOf(session)} max={60} />
              </a>
            </td>
            <td class="nowrap">{session.revision}</td>
            <td>
              <code>{`/mcp${session.endpoint === '' ? '' : `/${session.endpoint}`}`}</code>
            </td>
            <td>
              <Said text={session.principal} max={40} />
            </td>
            <td>
              <Said text={session.declared.length === 0 ? 'nothing' : session.declared.join(', ')} max={80} />
            </td>
            <td class="number">{session.streams}</td>
            <td class="number">{session.open}</td>
            <td class="number">{duration(session.idleMs)}</td>
            <td>
              <code>{session.process}</code>
            </td>
          </tr>
        ))}
      </Table>
      {next !== undefined && (
        <button type="button" onClick={() => setQuery({ cursor: next })}>{`The next of ${numberWords(total)}`}</button>
      )}
      {(place.value.query.get('cursor') ?? '') !== '' && (
        <button type="button" onClick={() => setQuery({ cursor: '' })}>
          The first again
        </button>
      )}
    </>
  );
}

const recentColumns: Columns<RecentClient> = {
  Client: nameOf,
  Endpoint: ({ endpoint }) => endpoint,
  Who: ({ principal }) => principal,
  Requests: ({ requests }) => requests,
  'Last asked': ({ idleMs }) => idleMs,
};

/** Clients of 2026-07-28, which have no session: each of their requests stands alone. */
function WithoutSession({ clients }: { readonly clients: readonly RecentClient[] }) {
  return (
    <section aria-label="Clients without a session">
      <h2>
        Clients without a session <span class="dim">of 2026-07-28, which asked something in the last five minutes</span>
      </h2>
      <Table
        label="Clients without a session"
        head={['Client', 'Endpoint', 'Who', 'May be asked', 'Requests', 'Last asked', 'Seen by']}
        sortable={recentColumns}
      >
        {sorted('Clients without a session', clients, recentColumns).map((row, index) => (
          <tr key={index}>
            <td>
              <Said text={nameOf(row)} max={60} />
            </td>
            <td>
              <code>{`/mcp${row.endpoint === '' ? '' : `/${row.endpoint}`}`}</code>
            </td>
            <td>
              <Said text={row.principal} max={40} />
            </td>
            <td>
              <Said text={row.declared.length === 0 ? 'nothing' : row.declared.join(', ')} max={80} />
            </td>
            <td class="number">{numberWords(row.requests)}</td>
            <td class="number">{duration(row.idleMs)} ago</td>
            <td>
              <code>{row.process}</code>
            </td>
          </tr>
        ))}
      </Table>
    </section>
  );
}

function nameOf({ client }: Pick<SessionRow, 'client'>): string {
  return client === undefined ? 'a client without a name' : `${client.name} ${client.version ?? ''}`.trim();
}

interface OneProps {
  readonly name: string;
  readonly ended: (said: string) => void;
}

function One({ name, ended }: OneProps) {
  const page = useLive<SessionPage>(`sessions/${encodeURIComponent(name)}`);
  const [isAsking, setAsking] = useState(false);
  const brought = useBrought();
  return (
    <section class="detail" ref={brought} aria-label="Session">
      <h2>
        Session <code>{name}</code>
      </h2>
      <Shown live={page}>
        {({ session }) => (
          <>
            <Facts {...session} />
            <div class="buttons">
              <OperatorButton act={() => setAsking(true)}>End it…</OperatorButton>
              {session.client !== undefined && (
                <a class="button" href={hrefOf('calls', undefined, { client: session.client.name })}>
                  Calls of this client
                </a>
              )}
            </div>
            {isAsking && <End name={name} session={session} ended={ended} close={() => setAsking(false)} />}
          </>
        )}
      </Shown>
    </section>
  );
}

function Facts(session: SessionRow) {
  return (
    <dl>
      <Fact name="Client">
        <Said text={nameOf(session)} />
      </Fact>
      <Fact name="State">
        {session.state}, {count(session.open, 'open request')}, {count(session.streams, 'stream')},{' '}
        {count(session.subscriptions, 'subscription')}
      </Fact>
      <Fact name="Servers that may keep something for it">
        {session.servers.length === 0
          ? 'none'
          : session.servers.map((server) => (
              <a key={server} href={hrefOf('servers', server)}>
                {server}{' '}
              </a>
            ))}
      </Fact>
      <Fact name="Held by">
        <code>{session.process}</code>
      </Fact>
    </dl>
  );
}

function End({ name, session, ended, close }: OneProps & { readonly session: SessionRow; readonly close: () => void }) {
  const end = async (): Promise<string> => {
    await remove<Ended>(`sessions/${encodeURIComponent(name)}`);
    refresh();
    return 'The session has ended. Its client opens another when it asks again.';
  };
  return (
    <Confirm
      title="End this session?"
      act="End it"
      run={end}
      close={(said) => {
        close();
        if (said === undefined) return;
        ended(said);
        go(hrefOf('sessions'));
      }}
    >
      <p>{count(session.open, 'open request')}, its subscriptions and its questions end with it.</p>
    </Confirm>
  );
}
