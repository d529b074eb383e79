/** The programs that one user has allowed to act for them, which operators can revoke. */
import type { ProgramSeen, ProgramsSeen } from '@omnibus/admin-api';
import { useState } from 'preact/hooks';
import { post } from '../api/ask.ts';
import { refresh, useLive } from '../api/live.ts';
import { Confirm, Empty, Problem } from '../parts/basics.tsx';
import { useChosen } from '../parts/chosen.ts';
import { may } from '../parts/may.ts';
import { OperatorButton } from '../parts/operator-button.tsx';
import { Said } from '../parts/said.tsx';
import { Table } from '../parts/table.tsx';
import { hrefOf, place, setQuery } from '../route.ts';

/** Users seldom allow programs. */
const everyMs = 10_000;

/** Asks for a user, and shows the programs of the one that the address names. */
export function Programs() {
  const named = place.value.query.get('user') ?? '';
  const [name, setName] = useState(named);
  if (!may().maySeePrograms) return null;
  return (
    <>
      <h2>Programs of a user</h2>
      <p>Programs that a user has allowed, on a page of this gateway, to act in the name of the user.</p>
      <form
        class="buttons"
        onSubmit={(event) => {
          event.preventDefault();
          setQuery({ user: name.trim() });
        }}
      >
        <label>
          User <input value={name} maxLength={600} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <button type="submit">Show programs</button>
      </form>
      {named !== '' && <Of key={named} user={named} />}
    </>
  );
}

function Of({ user }: { readonly user: string }) {
  const { value, problem } = useLive<ProgramsSeen>(`programs?user=${encodeURIComponent(user)}`, everyMs);
  const { chosen, choose, close, said } = useChosen<ProgramSeen>();
  if (value === undefined) return problem === undefined ? <p class="waiting">asking…</p> : <Problem {...problem} />;
  return (
    <>
      <p role="status">{said}</p>
      {value.programs.length === 0 ? (
        <Empty why="This user has allowed no program." />
      ) : (
        <List programs={value.programs} choose={choose} />
      )}
      {value.agents.length > 0 && (
        <p>
          Agents of this user: <a href={hrefOf('agents')}>{value.agents.map(({ name }) => name).join(', ')}</a>
        </p>
      )}
      {value.agentsProblem !== undefined && (
        <p>
          No agents are shown: <Said text={value.agentsProblem} max={500} />
        </p>
      )}
      {chosen !== undefined && <Revoke user={value.user} program={chosen} close={close} />}
    </>
  );
}

function List({
  programs,
  choose,
}: Pick<ProgramsSeen, 'programs'> & { readonly choose: (program: ProgramSeen) => void }) {
  return (
    <Table label="Programs" head={['Program', 'Answers go to', 'May', 'Since', 'Last use', 'Change']}>
      {programs.map((program) => (
        <tr key={program.id}>
          <td>
            <Said text={titleOf(program)} max={80} />
          </td>
          <td>
            <Said text={program.hosts.join(', ')} max={80} />
          </td>
          <td>
            <Said text={program.scopes.join(' ')} max={80} />
          </td>
          <td class="nowrap">{program.since.slice(0, 10)}</td>
          <td class="nowrap">{program.lastUse}</td>
          <td>
            <OperatorButton needs="mayPrograms" label={`Revoke ${titleOf(program)}…`} act={() => choose(program)}>
              Revoke…
            </OperatorButton>
          </td>
        </tr>
      ))}
    </Table>
  );
}

const titleOf = ({ name, client }: ProgramSeen): string => name ?? client;

function Revoke({
  user,
  program,
  close,
}: {
  readonly user: string;
  readonly program: ProgramSeen;
  readonly close: (done?: string) => void;
}) {
  return (
    <Confirm
      title={`Revoke ${titleOf(program)}?`}
      act="Revoke it"
      close={close}
      run={async () => {
        await post(`programs/${encodeURIComponent(program.id)}`, { user });
        refresh();
        return `${titleOf(program)} has no access any more.`;
      }}
    >
      <p>Its tokens end at once, in every process. The user may allow it again.</p>
    </Confirm>
  );
}
