/**
 * The pages of the authorization server: plain HTML without scripts, which cannot be framed, and which name the program and its permissions. All text
 * from outside is escaped.
 */
import type { ServerResponse } from 'node:http';
import { hash } from 'node:crypto';
import type { Allowed } from './people.ts';
import type { FurtherScope } from './further-scope.ts';

const style = `
:root{color-scheme:light dark}*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;grid-template-columns:minmax(0,1fr);place-items:center;overflow-wrap:anywhere;padding:1.5rem;font:1rem/1.5 system-ui,sans-serif;background:Canvas;color:CanvasText}
main{width:100%;max-width:32rem;border:1px solid color-mix(in srgb,CanvasText 20%,transparent);border-radius:.75rem;padding:2rem}
h1{font-size:1.35rem;line-height:1.3;margin:0 0 1rem}h2{font-size:1.05rem;margin:1.5rem 0 .5rem}p{margin:.5rem 0}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.35rem 1rem;margin:1rem 0}dt{opacity:.7}dd{margin:0}
.where{font-size:1.35rem;font-weight:600}.note{border-inline-start:.25rem solid #c77700;padding-inline-start:.75rem}.error{border-inline-start:.25rem solid #c00;padding-inline-start:.75rem}
label{display:block;margin:.75rem 0 .25rem}input{width:100%;font:inherit;padding:.5rem .6rem;border:1px solid #888;border-radius:.4rem;background:Field;color:FieldText}
.actions{display:flex;flex-wrap:wrap;gap:.75rem;margin-top:1.25rem}button{font:inherit;padding:.5rem 1.1rem;border-radius:.4rem;border:1px solid #888;background:ButtonFace;color:ButtonText;cursor:pointer}
button.main{background:#0b57d0;border-color:#0b57d0;color:#fff}:focus-visible{outline:3px solid #4c8df6;outline-offset:2px}li{margin:.75rem 0}ul{padding-inline-start:1.2rem}
`;
const styleDigest = hash('sha256', style, 'base64');

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

export interface Page {
  readonly title: string;
  readonly body: string;
  /**
   * Whether the answer to a form of the page may redirect to a program. Browsers apply `form-action` to every redirect that follows, also to those by which the
   * program leads on to a page or an app of its own, so the policy cannot name where they end.
   */
  readonly leadsToProgram?: boolean;
}

export function sendPage(response: ServerResponse, status: number, page: Page): void {
  const { text, headers } = rendered(page);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.writeHead(status, { 'content-length': Buffer.byteLength(text) }).end(text);
}

export function rendered({ title, body, leadsToProgram = false }: Page): {
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
} {
  const text = `<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escaped(title)}</title><style>${style}</style></head>\n<body><main>\n<h1>${escaped(title)}</h1>\n${body}\n</main></body>\n</html>\n`;
  return { text, headers: pageHeaders(leadsToProgram) };
}

function pageHeaders(leadsToProgram: boolean): Readonly<Record<string, string>> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${styleDigest}'; ${leadsToProgram ? '' : "form-action 'self'; "}frame-ancestors 'none'; base-uri 'none'`,
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff', // A form of ours sends its origin; no other site learns the address of the page.
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
  };
}

const hidden = (name: string, value: string): string =>
  `<input type="hidden" name="${name}" value="${escaped(value)}">`;
const problemOf = (problem: string | undefined): string =>
  problem === undefined ? '' : `<p class="error" role="alert">${escaped(problem)}</p>`;

export interface SignInPage {
  readonly action: string;
  readonly formToken: string;
  readonly clientName: string;
  /** Whether a file of users is configured. */
  readonly hasUsers: boolean;
  /** Host of the OpenID provider; undefined where there is none. */
  readonly upstreamHost: string | undefined;
  readonly leadsToProgram: boolean;
  readonly name: string;
  readonly problem: string | undefined;
}

export function signInPage({
  action,
  formToken,
  clientName,
  hasUsers,
  upstreamHost,
  leadsToProgram,
  name,
  problem,
}: SignInPage): Page {
  const own = `<form method="post" action="${escaped(action)}/login">${hidden('token', formToken)}
<label for="name">User name</label><input id="name" name="name" autocomplete="username" autocapitalize="none" spellcheck="false" required${name === '' ? ' autofocus' : ''} value="${escaped(name)}">
<label for="password">Password</label><input id="password" name="password" type="password" autocomplete="current-password" required${name === '' ? '' : ' autofocus'}>
<div class="actions"><button class="main" type="submit">Sign in</button><button type="submit" form="abort">Cancel</button></div></form>`;
  const elsewhere =
    upstreamHost === undefined
      ? ''
      : `<p><a href="${escaped(action)}/upstream">Sign in at ${escaped(upstreamHost)}</a></p>`;
  // Beside the other button where there is one, which the form's own attribute says.
  const cancel = `<form id="abort" method="post" action="${escaped(action)}/abort">${hidden('token', formToken)}${hasUsers ? '' : '<div class="actions"><button type="submit">Cancel</button></div>'}</form>`;
  return {
    title: 'Sign in',
    leadsToProgram,
    body: `<p>To continue with <strong>${escaped(clientName)}</strong>.</p>${problemOf(problem)}${hasUsers ? own : ''}${elsewhere}${cancel}`,
  };
}

export interface ConsentPage {
  readonly action: string;
  readonly formToken: string;
  readonly clientName: string | undefined;
  readonly clientId: string;
  readonly redirectHost: string;
  readonly isOnThisComputer: boolean;
  readonly isAddress: boolean;
  readonly person: string;
  readonly scopes: readonly FurtherScope[];
  /** For each address, the servers that it gives access to. */
  readonly resources: readonly { readonly address: string; readonly servers: readonly string[] }[];
  readonly leadsToProgram: boolean;
}

export function consentPage({
  action,
  formToken,
  clientName,
  clientId,
  redirectHost,
  isOnThisComputer,
  isAddress,
  person,
  scopes,
  resources,
  leadsToProgram,
}: ConsentPage): Page {
  const who = clientName ?? clientId;
  const where = resources
    .map(
      ({ address, servers }) =>
        `<li><code>${escaped(address)}</code>${servers.length === 0 ? '' : `: ${servers.map(escaped).join(', ')}`}</li>`,
    )
    .join('');
  const rows: readonly (readonly [string, string])[] = [
    ['Signed in as', escaped(person)],
    [isAddress ? 'Described at' : 'Client id', escaped(clientId)],
    [
      'May',
      scopes
        .map(
          ({ name, description }) =>
            `<code>${escaped(name)}</code>${description === undefined ? '' : ` (${escaped(description)})`}`,
        )
        .join(' '),
    ],
  ];
  return {
    title: `Allow ${who} to act for you?`,
    leadsToProgram,
    body: `<p>The answer goes to</p><p class="where">${escaped(redirectHost)}</p>
${isOnThisComputer ? '<p class="note">This is a program on this computer. Any program here can claim this name, so continue only if you have just started it yourself.</p>' : ''}
${scopes.some(({ administers }) => administers) ? '<p class="note">It asks for permission to administer the gateway in your name: its keys, its users and its configuration.</p>' : ''}
<dl>${rows.map(([name, value]) => `<dt>${name}</dt><dd>${value}</dd>`).join('')}</dl>
<h2>It gets access to</h2><ul>${where}</ul>
<div class="actions"><form method="post" action="${escaped(action)}/consent">${hidden('token', formToken)}<button class="main" type="submit">Allow</button></form>
<form method="post" action="${escaped(action)}/abort">${hidden('token', formToken)}<button type="submit">Refuse</button></form></div>`,
  };
}

export function deviceInputPage({
  action,
  secret,
  code,
  problem,
}: {
  readonly action: string;
  readonly secret: string;
  readonly code: string;
  readonly problem: string | undefined;
}): Page {
  return {
    title: 'Sign in a program',
    body: `${problemOf(problem)}<form method="post" action="${escaped(action)}">${hidden('xsrf', secret)}
<label for="user_code">Code that the program shows</label><input id="user_code" name="user_code" autocomplete="off" autocapitalize="characters" spellcheck="false" required autofocus value="${escaped(code)}">
<div class="actions"><button class="main" type="submit">Continue</button></div></form>`,
  };
}

/** @param address of the program, as the gateway sees it. */
export function deviceConfirmPage({
  action,
  secret,
  code,
  clientName,
  address,
}: {
  readonly action: string;
  readonly secret: string;
  readonly code: string;
  readonly clientName: string;
  readonly address: string;
}): Page {
  const fields = `${hidden('xsrf', secret)}${hidden('user_code', code)}${hidden('confirm', 'yes')}`;
  return {
    title: 'Is this your program?',
    body: `<p class="where">${escaped(code)}</p><p class="note">Go on only if you have just started <strong>${escaped(clientName)}</strong> yourself and it shows this code. Whoever sent you the code would be signed in as you.</p>
${address === '' ? '' : `<dl><dt>Asked from</dt><dd>${escaped(address)}</dd></dl>`}
<div class="actions"><form method="post" action="${escaped(action)}">${fields}<button class="main" type="submit">It is mine</button></form>
<form method="post" action="${escaped(action)}">${fields}${hidden('abort', 'yes')}<button type="submit">It is not</button></form></div>`,
  };
}

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** @param base the path below which the gateway stands. */
export function accountPage(base: string, person: string, formToken: string, allowed: readonly Allowed[]): Page {
  const entry = ({
    grantId,
    clientName,
    clientId,
    redirectHosts,
    scopes,
    resources,
    at,
    usedAt = at,
  }: Allowed): string => `<li><strong>${escaped(clientName ?? clientId)}</strong> (${redirectHosts.map(escaped).join(', ')})<br>${scopes.map((scope) => `<code>${escaped(scope)}</code>`).join(' ')} at ${resources.map((resource) => `<code>${escaped(resource)}</code>`).join(', ')}, since ${dayOf(at)}, last used ${dayOf(usedAt)}
<form method="post" action="${base}/account/revoke">${hidden('token', formToken)}${hidden('grant', grantId)}<button type="submit">Take back</button></form></li>`;
  return {
    title: 'What you have allowed',
    body: `<p>Signed in as <strong>${escaped(person)}</strong>.</p>${allowed.length === 0 ? '<p>Nothing.</p>' : `<ul>${allowed.map(entry).join('')}</ul>`}
<div class="actions"><form method="post" action="${base}/account/sign-out">${hidden('token', formToken)}<button type="submit">Sign out</button></form>
<form method="post" action="${base}/account/revoke">${hidden('token', formToken)}${hidden('grant', '*')}<button type="submit">Take all back and sign out</button></form></div>`,
  };
}

/** A page with a title and some sentences. */
export function wordsPage(title: string, ...words: readonly string[]): Page {
  return { title, body: words.map((each) => `<p>${escaped(each)}</p>`).join('') };
}
