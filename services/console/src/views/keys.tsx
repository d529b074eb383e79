/** The view "Keys": the API keys of callers, their owners and last uses, and their revocation. */
import type { KeySeen, Keys as Answer } from '@omnibus/admin-api';
import { useState } from 'preact/hooks';
import { remove } from '../api/ask.ts';
import { refresh, useLive } from '../api/live.ts';
import { Ago, Command, Confirm, Empty, Heading, Problem } from '../parts/basics.tsx';
import { may } from '../parts/may.ts';
import { sorted, Table, type Columns } from '../parts/table.tsx';
import { Said } from '../parts/said.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { State } from '../parts/state.tsx';
import { UnknownRights } from '../parts/unknown-rights.tsx';
import { hrefOf, place, setQuery } from '../route.ts';
import { count } from '../words.ts';

export function Keys() {
  const { maySeeKeys, who } = may();
  if (maySeeKeys) return <All />;
  return (
    <>
      <Heading>Keys</Heading>
      {who === '' ? (
        <UnknownRights />
      ) : (
        <Empty why="Keys are for the roles auditor and admin.">
          You are known here as “{who}”. <code>auth.admin.roles</code> says who has which role. On the machine with the
          file of keys, <code>omnibus keys list</code> shows them.
        </Empty>
      )}
    </>
  );
}

function All() {
  const { value, problem } = useLive<Answer>('keys');
  const [said, setSaid] = useState('');
  const [chosen, setChosen] = useState<KeySeen>();
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
      {value !== undefined && <Found {...value} choose={setChosen} />}
      {chosen !== undefined && (
        <Revoke
          chosen={chosen}
          close={(done) => {
            setChosen(undefined);
            if (done !== undefined) setSaid(done);
          }}
        />
      )}
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

function Found({ keys, choose }: Answer & { readonly choose: (key: KeySeen) => void }) {
  const words = (place.value.query.get('q') ?? '').toLowerCase();
  const shown = keys.filter(({ id, subject, tenant = '', groups, note = '' }) =>
    [id, subject, tenant, note, ...groups].some((text) => text.toLowerCase().includes(words)),
  );
  if (keys.length === 0)
    return (
      <Empty why="There is no key yet.">
        <Command text="omnibus keys create --subject NAME" />
      </Empty>
    );
  if (shown.length === 0)
    return (
      <Empty why="No key is of such a subject.">
        <button type="button" onClick={() => setQuery({ q: '' })}>
          Show all
        </button>
      </Empty>
    );
  return <List shown={shown} choose={choose} />;
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
  const { mayKeys } = may();
  return (
    <Table
      label="Keys"
      head={['Subject', 'Key', 'State', 'Good for', 'Last use', 'Expires', 'Made', 'Note', 'Change']}
      sortable={columns}
    >
      {sorted('Keys', shown, columns).map((key) => (
        <tr key={key.id}>
          <td>
            <Said text={key.subject} max={80} />
            {key.groups.length > 0 && (
              <span class="dim">
                {' '}
                <Said text={key.groups.join(', ')} max={120} />
              </span>
            )}
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
              <button
                type="button"
                disabled={!mayKeys}
                title={mayKeys ? undefined : 'for administrators'}
                aria-label={`Revoke the key ${key.id} of ${key.subject}…`}
                onClick={() => choose(key)}
              >
                Revoke…
              </button>
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
