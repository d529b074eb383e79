/** The view "Keys": the API keys of callers, their owners and last uses, and their revocation. */
import type { KeySeen, Keys as Answer } from '@omnibus/admin-api';
import { remove } from '../api/ask.ts';
import { refresh, useLive } from '../api/live.ts';
import { Ago, Command, Confirm, Empty, Heading, Problem } from '../parts/basics.tsx';
import { useChosen } from '../parts/chosen.ts';
import { Found } from '../parts/found.tsx';
import { may } from '../parts/may.ts';
import { OperatorButton } from '../parts/operator-button.tsx';
import { sorted, Table, type Columns } from '../parts/table.tsx';
import { Said, WithGroups } from '../parts/said.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { State } from '../parts/state.tsx';
import { ForOthers } from '../parts/unknown-rights.tsx';
import { hrefOf } from '../route.ts';
import { count } from '../words.ts';

export function Keys() {
  if (may().maySeeKeys) return <All />;
  return (
    <>
      <Heading>Keys</Heading>
      <ForOthers why="Keys are for the roles auditor and admin.">
        On the machine with the file of keys, <code>omnibus keys list</code> shows them.
      </ForOthers>
    </>
  );
}

function All() {
  const { value, problem } = useLive<Answer>('keys');
  const { chosen, choose, close, said } = useChosen<KeySeen>();
  return (
    <>
      <Heading aside={value !== undefined && count(value.keys.filter(isGood).length, 'key', 'keys')}>Keys</Heading>
      <p>
        API keys, by which callers prove who they are. Clients that sign in at an issuer have none: they are among the{' '}
        <a href={hrefOf('sessions')}>sessions</a>, and what their users have connected to is under{' '}
        <a href={hrefOf('connections')}>connections</a>.
      </p>
      <SearchField label="Subject, group or note" placeholder="a part of it" isAlone />
      <p role="status">{said}</p>
      {problem !== undefined && (problem.reason === 'conflict' ? <None /> : <Problem {...problem} />)}
      {value === undefined && problem === undefined && <p class="waiting">asking…</p>}
      {value !== undefined && (
        <Found
          rows={value.keys}
          texts={({ id, subject, tenant = '', groups, note = '' }) => [id, subject, tenant, note, ...groups]}
          none={
            <Empty why="There is no key yet.">
              <Command text="omnibus keys create --subject NAME" />
            </Empty>
          }
          otherwise="No key is of such a subject."
        >
          {(shown) => <List shown={shown} choose={choose} />}
        </Found>
      )}
      {chosen !== undefined && <Revoke chosen={chosen} close={close} />}
    </>
  );
}

function None() {
  return (
    <Empty why="This gateway has no file of API keys.">
      <Command text="omnibus keys create --subject NAME" /> makes one, and{' '}
      <code>{'auth: { keys: { file: keys.yaml } }'}</code> in the configuration takes it.
    </Empty>
  );
}

const hasEnded = ({ expires }: KeySeen): boolean => expires !== undefined && Date.parse(expires) <= Date.now();
const isGood = (key: KeySeen): boolean => key.revoked === undefined && !hasEnded(key);

const columns: Columns<KeySeen> = {
  Subject: ({ subject }) => subject,
  State: (key) => (key.revoked !== undefined ? 2 : hasEnded(key) ? 1 : 0),
  'Last use': ({ lastUse }) => lastUse,
  Expires: ({ expires }) => expires,
  Made: ({ created }) => created,
};

function List({ shown, choose }: { readonly shown: readonly KeySeen[]; readonly choose: (key: KeySeen) => void }) {
  return (
    <Table
      label="Keys"
      head={['Subject', 'Key', 'State', 'Good for', 'Last use', 'Expires', 'Made', 'Note', 'Change']}
      sortable={columns}
    >
      {sorted('Keys', shown, columns).map((key) => (
        <tr key={key.id}>
          <td>
            <WithGroups name={key.subject} groups={key.groups} />
          </td>
          <td>
            <code>{key.id}</code>
          </td>
          <td class="nowrap">
            {key.revoked !== undefined ? (
              <State tone="off" shape="○" word="revoked" />
            ) : hasEnded(key) ? (
              <State tone="warn" shape="!" word="expired" />
            ) : (
              <State tone="good" shape="●" word="good" />
            )}
          </td>
          <td>
            <Said text={goodFor(key)} max={120} />
          </td>
          <td class="nowrap">{key.lastUse === undefined ? '–' : <Ago at={key.lastUse} />}</td>
          <td class="nowrap">{key.expires?.slice(0, 10) ?? 'never'}</td>
          <td class="nowrap">{key.created === undefined ? '–' : <Ago at={key.created} />}</td>
          <td>
            <Said text={key.note ?? ''} max={120} />
          </td>
          <td>
            {key.revoked === undefined && (
              <OperatorButton
                needs="mayKeys"
                label={`Revoke the key ${key.id} of ${key.subject}…`}
                act={() => choose(key)}
              >
                Revoke…
              </OperatorButton>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function goodFor({ endpoints, tools }: KeySeen): string {
  const places = endpoints?.map((name) => (name === '' ? '/mcp' : `/mcp/${name}`));
  return [...(places ?? ['every endpoint']), ...(tools === undefined ? [] : [`only ${tools.join(', ')}`])].join(', ');
}

function Revoke({ chosen, close }: { readonly chosen: KeySeen; readonly close: (done?: string) => void }) {
  const run = async (): Promise<string> => {
    await remove(`keys/${encodeURIComponent(chosen.id)}`);
    refresh();
    return `The key ${chosen.id} of ${chosen.subject} is revoked.`;
  };
  return (
    <Confirm title={`Revoke the key ${chosen.id}?`} act="Revoke it" run={run} close={close}>
      <p>
        Clients that send this key of <Said text={chosen.subject} max={80} /> are refused from then on, and their
        streams end. A revoked key never becomes good again.
      </p>
    </Confirm>
  );
}
