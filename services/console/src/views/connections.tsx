/** The view "Connections": what users have connected to servers by signing in there. */
import type { ConnectionRevoked, Connections as Answer, ConnectionSeen } from '@omnibus/admin-api';
import { remove } from '../api/ask.ts';
import { refresh, useLive } from '../api/live.ts';
import { Ago, Confirm, Empty, Heading, Shown } from '../parts/basics.tsx';
import { useChosen } from '../parts/chosen.ts';
import { Found } from '../parts/found.tsx';
import { sorted, Table, type Columns } from '../parts/table.tsx';
import { OperatorButton } from '../parts/operator-button.tsx';
import { Said } from '../parts/said.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { State } from '../parts/state.tsx';
import { hrefOf } from '../route.ts';
import { count, numberWords } from '../words.ts';
import { Programs } from './programs.tsx';

export function Connections() {
  const connections = useLive<Answer>('connections');
  const { chosen, choose, close, said } = useChosen<ConnectionSeen>();
  const { value } = connections;
  return (
    <>
      <Heading aside={value !== undefined && count(value.total, 'connection')}>Connections</Heading>
      <p>Users who have signed in at a server: it is called with tokens that are theirs alone.</p>
      <SearchField label="User or server" placeholder="a part of the name" isAlone />
      <p role="status">{said}</p>
      <Shown live={connections}>
        {({ connections: rows, total }) => (
          <Found
            rows={rows}
            texts={({ server, owner = '', principal }) => [server, owner, principal]}
            none={
              <Empty why="Nobody has signed in at a server.">
                A server with <code>{'credentials: { kind: oauth }'}</code> asks its users to, when they first use it.
              </Empty>
            }
            otherwise="No connection is of such a user or server."
          >
            {(shown) => (
              <>
                <List shown={shown} choose={choose} />
                {total > rows.length && (
                  <p class="dim">{`The first ${numberWords(rows.length)} of ${numberWords(total)} are shown.`}</p>
                )}
              </>
            )}
          </Found>
        )}
      </Shown>
      <Programs />
      {chosen !== undefined && <Revoke chosen={chosen} close={close} />}
    </>
  );
}

const states = {
  connected: { tone: 'good', shape: '●', word: 'connected' },
  'signed-out': { tone: 'warn', shape: '!', word: 'has to sign in again' },
  unreadable: { tone: 'bad', shape: '✗', word: 'unreadable: a key of the vault is missing' },
} as const;

function userOf({ owner, principal }: ConnectionSeen): string {
  return owner ?? (principal === '' ? 'the user of this machine' : principal);
}

const columns: Columns<ConnectionSeen> = {
  User: userOf,
  Server: ({ server }) => server,
  State: ({ state }) => state,
  'Tokens of': ({ issuer }) => issuer,
  Since: ({ since }) => since,
};

function List({
  shown,
  choose,
}: {
  readonly shown: readonly ConnectionSeen[];
  readonly choose: (row: ConnectionSeen) => void;
}) {
  return (
    <Table
      label="Connections"
      head={['User', 'Server', 'State', 'Tokens of', 'Scope', 'Since', 'Change']}
      sortable={columns}
    >
      {sorted('Connections', shown, columns).map((row) => (
        <tr key={row.id}>
          <td>
            <Said text={userOf(row)} max={80} />
          </td>
          <td>
            <a href={hrefOf('servers', row.server)}>{row.server}</a> <Said text={row.host} max={60} />
          </td>
          <td>
            <State {...states[row.state]} />
          </td>
          <td>
            <Said text={row.issuer} max={80} />
          </td>
          <td>
            <Said text={row.scope ?? ''} max={80} />
          </td>
          <td class="nowrap">{row.since !== undefined && <Ago at={row.since} />}</td>
          <td>
            <OperatorButton label={`Revoke ${row.server} of ${userOf(row)}…`} act={() => choose(row)}>
              Revoke…
            </OperatorButton>
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Revoke({ chosen, close }: { readonly chosen: ConnectionSeen; readonly close: (done?: string) => void }) {
  const run = async (): Promise<string> => {
    const { isRevokedAtIssuer } = await remove<ConnectionRevoked>(`connections/${encodeURIComponent(chosen.id)}`);
    refresh();
    return `${userOf(chosen)} is not connected to ${chosen.server} any more. ${isRevokedAtIssuer === true ? 'The issuer has taken the tokens back.' : 'The tokens are gone here; the issuer has not taken them back, so they are good there until they end.'}`;
  };
  return (
    <Confirm title={`Revoke the connection to ${chosen.server}?`} act="Revoke it" run={run} close={close}>
      <p>
        The tokens of <Said text={userOf(chosen)} max={80} /> are removed, and the issuer is asked to take them back.
        The next call of this user is answered with the address at which to sign in again.
      </p>
    </Confirm>
  );
}
