/** The frame around every view: header with the state of the gateway, navigation, and the sign-in. */
import type { Overview as OverviewAnswer } from '@omnibus/admin-api';
import type { ComponentType } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { isKnown, needsSignIn, takeToken } from './api/ask.ts';
import { refresh, useLive, type Live } from './api/live.ts';
import { Dialog, Heading, Updated } from './parts/basics.tsx';
import { may } from './parts/may.ts';
import { Returned } from './parts/returned.tsx';
import { SignIn, signOut } from './parts/sign-in.tsx';
import { State } from './parts/state.tsx';
import { followKeys, isHelpShown, views } from './keys.ts';
import { followAddress, go, hrefOf, place } from './route.ts';
import { count } from './words.ts';
import { later } from './parts/later.tsx';
import { Overview } from './views/overview.tsx';
import { Servers } from './views/servers.tsx';

/** The views by name. The first two are part of the page; the others are loaded when they are opened. */
const shown: Readonly<Record<string, ComponentType>> = {
  overview: Overview,
  servers: Servers,
  catalogue: later(async () => (await import('./views/catalogue.tsx')).Catalogue),
  try: later(async () => (await import('./views/try.tsx')).Try),
  calls: later(async () => (await import('./views/calls.tsx')).Calls),
  sessions: later(async () => (await import('./views/sessions.tsx')).Sessions),
  tokens: later(async () => (await import('./views/tokens.tsx')).Tokens),
  connect: later(async () => (await import('./views/connect.tsx')).Connect),
  connections: later(async () => (await import('./views/connections.tsx')).Connections),
  topology: later(async () => (await import('./views/topology.tsx')).Topology),
  approvals: later(async () => (await import('./views/approvals.tsx')).Approvals),
  trust: later(async () => (await import('./views/trust.tsx')).Trust),
  policy: later(async () => (await import('./views/policy.tsx')).Policy),
  keys: later(async () => (await import('./views/keys.tsx')).Keys),
  agents: later(async () => (await import('./views/agents.tsx')).Agents),
  audit: later(async () => (await import('./views/audit.tsx')).Audit),
  configuration: later(async () => (await import('./views/configuration.tsx')).Configuration),
};

export function App() {
  useEffect(followAddress, []);
  useEffect(followTokens, []);
  useEffect(followKeys, []);
  const overview = useLive<OverviewAnswer>('overview');
  const { view } = place.value;
  const title = views.find(({ name }) => name === view)?.title ?? 'Not here';
  useLayoutEffect(() => {
    document.title = `${title} – Omnibus`;
    scrollTo(0, 0);
  }, [title]);
  const isApprover = overview.problem?.reason === 'forbidden';
  useEffect(() => {
    // A user without access to the state of the gateway may still be an approver.
    if (isApprover && place.peek().view === 'overview') go(hrefOf('approvals'));
  }, [isApprover]);
  const View = Object.hasOwn(shown, view) ? shown[view] : undefined;
  return (
    <>
      <button type="button" class="skip" onClick={() => document.querySelector<HTMLElement>('main h1')?.focus()}>
        Skip to the content
      </button>
      <Top overview={overview} />
      <Views current={view} />
      <main>
        <Returned overview={overview} />
        {needsSignIn.value ? <SignIn problem={overview.problem} /> : View === undefined ? <NotFound /> : <View />}
      </main>
      {isHelpShown.value && <Help />}
    </>
  );
}

/** The views in their groups. On a narrow screen a button shows them. */
function Views({ current }: { readonly current: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <nav aria-label="Views" class={isOpen ? 'open' : undefined}>
      <button type="button" class="menu" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Views <span aria-hidden="true">{isOpen ? '▴' : '▾'}</span>
      </button>
      {[...Map.groupBy(views, ({ group }) => group)].map(([group, of]) => (
        <div key={group} role="group" aria-label={group}>
          <span class="group" aria-hidden="true">
            {group}
          </span>
          {of.map(({ name, title, key }) => (
            <a
              key={name}
              href={hrefOf(name)}
              aria-current={name === current ? 'page' : undefined}
              title={`g ${key}`}
              onClick={() => setOpen(false)}
            >
              {title}
            </a>
          ))}
        </div>
      ))}
      <button
        type="button"
        class="plain keys-button"
        onClick={() => {
          isHelpShown.value = true;
        }}
      >
        Shortcuts <kbd>?</kbd>
      </button>
    </nav>
  );
}

/** The user of the page, where a key or a sign-in says who that is. */
function You() {
  if (!isKnown.value) return null;
  const { who, roles } = may();
  return (
    <div role="group" aria-label="You" class="you">
      {who !== '' && (
        <span title={who}>
          {who.slice(who.lastIndexOf('|') + 1)} <span class="dim">{roles.join(', ')}</span>
        </span>
      )}
      <button type="button" class="plain" onClick={signOut}>
        Sign out
      </button>
    </div>
  );
}

/** An address with a key may be opened in a tab that shows the page already. */
function followTokens(): () => void {
  const changed = (): void => {
    if (takeToken()) refresh();
  };
  addEventListener('hashchange', changed);
  changed();
  return () => removeEventListener('hashchange', changed);
}

function Top({ overview: { value, problem, at } }: { readonly overview: Live<OverviewAnswer> }) {
  const needs = value?.findings.filter(({ severity }) => severity !== 'note').length ?? 0;
  return (
    <header>
      <strong class="brand">Omnibus</strong>
      {problem?.reason === 'forbidden' ? (
        <State tone="off" shape="○" word="only a part of this is for you" />
      ) : problem !== undefined ? (
        <State tone="bad" shape="✗" word={needsSignIn.value ? 'who is asking?' : 'no answer'} />
      ) : value === undefined ? (
        <State tone="off" shape="?" word="asking" />
      ) : needs === 0 ? (
        <State tone="good" shape="●" word="all is well" />
      ) : (
        <a href={hrefOf('overview')}>
          <State tone="warn" shape="!" word={`${count(needs, 'thing')} ${needs === 1 ? 'needs' : 'need'} you`} />
        </a>
      )}
      {value !== undefined && (
        <span class="where">
          {count(value.counts.processes, 'process', 'processes')} · {value.version} · answered by{' '}
          <code>{value.process}</code> · <Updated at={at} />
          {value.console.mode === 'read' && ' · read only'}
        </span>
      )}
      <You />
    </header>
  );
}

function NotFound() {
  return (
    <>
      <Heading>Not here</Heading>
      <p>
        This page has no such view. <a href={hrefOf('overview')}>Go to the overview</a>
      </p>
    </>
  );
}

function Help() {
  const close = (): void => {
    isHelpShown.value = false;
  };
  return (
    <Dialog title="Shortcuts" close={close}>
      <table class="keys">
        <tbody>
          {views.map(({ name, title, key, asks }) => (
            <tr key={name}>
              <td>
                <kbd>g</kbd> <kbd>{key}</kbd>
              </td>
              <td>
                <strong>{title}</strong> {asks}
              </td>
            </tr>
          ))}
          <tr>
            <td>
              <kbd>/</kbd>
            </td>
            <td>search, filter</td>
          </tr>
          <tr>
            <td>
              <kbd>Esc</kbd>
            </td>
            <td>back to the list</td>
          </tr>
          <tr>
            <td>
              <kbd>Ctrl</kbd> <kbd>Enter</kbd>
            </td>
            <td>call the tool (Try)</td>
          </tr>
          <tr>
            <td>
              <kbd>?</kbd>
            </td>
            <td>this</td>
          </tr>
        </tbody>
      </table>
      <div class="buttons">
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
