/** The view "Agents": the programs that get tokens for themselves, their owners and last uses; they are blocked and get other secrets here. */
import type { Agents as Answer, AgentMade, AgentSeen } from '@omnibus/admin-api';
import { useState } from 'preact/hooks';
import { post, remove } from '../api/ask.ts';
import { refresh, useLive } from '../api/live.ts';
import { Ago, Command, Confirm, Dialog, Empty, Heading, Shown } from '../parts/basics.tsx';
import { useChosen } from '../parts/chosen.ts';
import { Found } from '../parts/found.tsx';
import { may } from '../parts/may.ts';
import { OperatorButton } from '../parts/operator-button.tsx';
import { Said, WithGroups } from '../parts/said.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { State } from '../parts/state.tsx';
import { sorted, Table, type Columns } from '../parts/table.tsx';
import { ForOthers } from '../parts/unknown-rights.tsx';
import { hrefOf } from '../route.ts';
import { SigningKeys } from './signing-keys.tsx';
import { count } from '../words.ts';

export function Agents() {
  const { maySeeAgents, hasAgents } = may();
  if (maySeeAgents && hasAgents) return <All />;
  return (
    <>
      <Heading>Agents</Heading>
      {maySeeAgents ? <None /> : <ForOthers why="Agents are for the roles operator, auditor and admin." />}
    </>
  );
}

/** An act that its user has to confirm. */
interface Chosen {
  readonly agent: AgentSeen;
  readonly act: 'block' | 'unblock' | 'rotate';
}

function All() {
  const live = useLive<Answer>('agents');
  const { chosen, choose, close, said } = useChosen<Chosen>();
  const [made, setMade] = useState<AgentMade>();
  return (
    <>
      <Heading aside={live.value !== undefined && count(live.value.agents.filter(isValid).length, 'agent')}>
        Agents
      </Heading>
      <p>
        Programs that get tokens for themselves, or to act for users, at the authorization server of this gateway.
        Programs with an API key are among the <a href={hrefOf('keys')}>keys</a>.
      </p>
      <SearchField label="Name, owner or group" placeholder="a part of it" isAlone />
      <p role="status">{said}</p>
      <Shown live={live}>
        {({ agents }) => (
          <Found
            rows={agents}
            texts={({ name, owner, tenant = '', groups, note = '' }) => [name, owner, tenant, note, ...groups]}
            none={
              <Empty why="There is no agent yet.">
                <Command text="omnibus agents add NAME --owner OWNER" />
              </Empty>
            }
            otherwise="No agent has such a name, owner or group."
          >
            {(shown) => <List shown={shown} choose={choose} />}
          </Found>
        )}
      </Shown>
      <SigningKeys />
      {chosen !== undefined && chosen.act === 'rotate' && <Rotate agent={chosen.agent} close={close} show={setMade} />}
      {chosen !== undefined && chosen.act !== 'rotate' && <Block {...chosen} close={close} />}
      {made?.secret !== undefined && <Secret {...made} close={() => setMade(undefined)} />}
    </>
  );
}

function None() {
  return (
    <Empty why="This gateway has no file of agents.">
      <code>{'auth: { server: { agents: { file: agents.yaml } } }'}</code> in the configuration names one.{' '}
      <Command text="omnibus docs agents" /> explains what stands in it.
    </Empty>
  );
}

const isValid = ({ state }: AgentSeen): boolean => state === 'valid';
const ranks = { blocked: 0, expired: 1, valid: 2 } as const;

const columns: Columns<AgentSeen> = {
  Agent: ({ name }) => name,
  Owner: ({ owner }) => owner,
  State: ({ state }) => ranks[state],
  'Last use': ({ lastUse }) => lastUse,
  Expires: ({ expires }) => expires,
};

interface ListProps {
  readonly shown: readonly AgentSeen[];
  readonly choose: (chosen: Chosen) => void;
}

function List({ shown, choose }: ListProps) {
  return (
    <Table
      label="Agents"
      head={['Agent', 'Owner', 'State', 'Proof', 'May use', 'Last use', 'Expires', 'Change']}
      sortable={columns}
    >
      {sorted('Agents', shown, columns).map((agent) => (
        <tr key={agent.name}>
          <td>
            <WithGroups name={agent.name} groups={agent.groups} />
          </td>
          <td>
            <Said text={agent.owner} max={80} />
          </td>
          <td>
            <StateOf {...agent} />
          </td>
          <td class="nowrap">{agent.proof}</td>
          <td>
            <Said text={placesOf(agent)} max={120} />
          </td>
          <td class="nowrap">{agent.lastUse === undefined ? '–' : <Ago at={agent.lastUse} />}</td>
          <td class="nowrap">{agent.expires?.slice(0, 10) ?? 'never'}</td>
          <td>
            <Acts agent={agent} choose={choose} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function StateOf({ state, because }: AgentSeen) {
  if (state === 'valid') return <State tone="good" shape="●" word="valid" />;
  if (state === 'expired') return <State tone="warn" shape="!" word="expired" />;
  return (
    <>
      <State tone="off" shape="○" word="blocked" /> {because !== undefined && <Said text={because} max={120} />}
    </>
  );
}

function placesOf({ endpoints, scopes }: AgentSeen): string {
  const places = endpoints?.map((name) => (name === '' ? '/mcp' : `/mcp/${name}`)) ?? ['every endpoint'];
  return [...places, ...scopes].join(', ');
}

function Acts({ agent, choose }: { readonly agent: AgentSeen; readonly choose: (chosen: Chosen) => void }) {
  const isBlocked = agent.state === 'blocked';
  return (
    <>
      <OperatorButton
        needs="mayBlock"
        label={`${isBlocked ? 'Unblock' : 'Block'} ${agent.name}…`}
        act={() => choose({ agent, act: isBlocked ? 'unblock' : 'block' })}
      >
        {isBlocked ? 'Unblock…' : 'Block…'}
      </OperatorButton>{' '}
      {agent.proof === 'secret' && (
        <OperatorButton
          needs="mayAgents"
          label={`Rotate the secret of ${agent.name}…`}
          act={() => choose({ agent, act: 'rotate' })}
        >
          Rotate…
        </OperatorButton>
      )}
    </>
  );
}

interface ActProps {
  readonly agent: AgentSeen;
  readonly close: (done?: string) => void;
}

function Block({ agent: { name }, act, close }: ActProps & Pick<Chosen, 'act'>) {
  const [because, setBecause] = useState('');
  if (act === 'unblock')
    return (
      <Confirm
        title={`Unblock ${name}?`}
        act="Unblock it"
        close={close}
        run={async () => {
          await remove(`blocks/${encodeURIComponent(`user:agent:${name}`)}`);
          refresh();
          return `${name} is not blocked any more.`;
        }}
      >
        <p>The agent may get tokens again, and use those that have not expired.</p>
      </Confirm>
    );
  return (
    <Confirm
      title={`Block ${name}?`}
      act="Block it"
      close={close}
      run={async () => {
        const why = because.trim();
        await post('blocks', { kind: 'user', name: `agent:${name}`, ...(why === '' ? {} : { because: why }) });
        refresh();
        return `${name} is blocked.`;
      }}
    >
      <p>Its calls, sessions and streams end in every process, also where it acts for a user. It gets no tokens.</p>
      <label>
        Because <input value={because} maxLength={500} onInput={(event) => setBecause(event.currentTarget.value)} />
      </label>
    </Confirm>
  );
}

const hourMs = 3_600_000;
const keeps = [
  ['not at all: its tokens end too', 0],
  ['for an hour', hourMs],
  ['for a day', 24 * hourMs],
  ['for a week', 7 * 24 * hourMs],
] as const;

function Rotate({ agent: { name }, close, show }: ActProps & { readonly show: (made: AgentMade) => void }) {
  const [keepMs, setKeepMs] = useState(24 * hourMs);
  return (
    <Confirm
      title={`Another secret for ${name}?`}
      act="Make it"
      close={close}
      run={async () => {
        show(await post<AgentMade>(`agents/${encodeURIComponent(name)}`, { keepMs }));
        refresh();
        return `${name} has another secret.`;
      }}
    >
      <p>The page shows the new secret once.</p>
      <label>
        The old one stays valid{' '}
        <select value={String(keepMs)} onChange={(event) => setKeepMs(Number(event.currentTarget.value))}>
          {keeps.map(([words, ms]) => (
            <option key={ms} value={String(ms)}>
              {words}
            </option>
          ))}
        </select>
      </label>
    </Confirm>
  );
}

function Secret({ name, client, secret = '', close }: AgentMade & { readonly close: () => void }) {
  return (
    <Dialog title={`The new secret of ${name}`} close={close}>
      <p>
        The client id is <code>{client}</code>. The gateway keeps no secret, so copy it now.
      </p>
      <Command text={secret} />
      <div class="buttons">
        <button type="button" class="strong" onClick={close}>
          I have it
        </button>
      </div>
    </Dialog>
  );
}
