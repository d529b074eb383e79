/** The keys with which the gateway's own authorization server signs tokens, and their rotation. */
import type { SigningKeysSeen } from '@omnibus/admin-api';
import { useState } from 'preact/hooks';
import { post } from '../api/ask.ts';
import { refresh, useLive } from '../api/live.ts';
import { Ago, Confirm, Problem } from '../parts/basics.tsx';
import { useChosen } from '../parts/chosen.ts';
import { OperatorButton } from '../parts/operator-button.tsx';
import { State } from '../parts/state.tsx';
import { Table } from '../parts/table.tsx';

/** Keys seldom change. */
const everyMs = 10_000;

export function SigningKeys() {
  const { value, problem } = useLive<SigningKeysSeen>('signing-keys', everyMs);
  const { chosen, choose, close, said } = useChosen();
  return (
    <>
      <h2>Signing keys</h2>
      <p>
        Tokens of agents and users are signed by one of these. A new one follows every 30 days; it is published an hour
        before it signs, and the old one verifies for a day more.
      </p>
      <p role="status">{said}</p>
      {problem !== undefined && <Problem {...problem} />}
      {value !== undefined && (
        <Table label="Signing keys" head={['Key', 'State', 'From, until', 'Made']}>
          {value.keys.map(({ id, state, at, created }) => (
            <tr key={id}>
              <td>
                <code>{id}</code>
              </td>
              <td>
                {state === 'signing' ? (
                  <State tone="good" shape="●" word="signs" />
                ) : (
                  <State tone="off" shape="○" word={state === 'next' ? 'signs next' : 'verifies'} />
                )}
              </td>
              <td>{at === undefined ? '–' : new Date(at).toLocaleString()}</td>
              <td>
                <Ago at={created} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <OperatorButton needs="mayAgents" act={() => choose({})}>
        Rotate the signing key…
      </OperatorButton>
      {chosen !== undefined && <Rotate close={close} />}
    </>
  );
}

function Rotate({ close }: { readonly close: (done?: string) => void }) {
  const [atOnce, setAtOnce] = useState(false);
  return (
    <Confirm
      title="Another signing key?"
      act="Make it"
      close={close}
      run={async () => {
        await post('signing-keys', { atOnce });
        refresh();
        return atOnce
          ? 'A new key signs, and all tokens have ended.'
          : 'The next key is published, and signs in an hour.';
      }}
    >
      <p>No token ends, unless others know a key:</p>
      <label>
        <input type="checkbox" checked={atOnce} onChange={(event) => setAtOnce(event.currentTarget.checked)} /> sign
        with the new key at once, remove the others, and so end all tokens
      </label>
    </Confirm>
  );
}
