/** Lists and revokes connections of users to servers: the caller's own at a gateway, or those of all users at an admin port. */
import { printable, type ConnectionRow } from '@omnibus/protocol';
import { counted } from '../output/counted.ts';
import { alignColumns } from '../output/table.ts';
import { answer, answerJson, runCommand } from '../output/outcome.ts';
import { CommandProblem } from '@omnibus/client';
import { gatewayUrl } from '../client/gateway-url.ts';
import { credentials, type TargetOptions } from '../client/open.ts';
import type { AskOptions } from './admin-port.ts';
import { askApi } from './api.ts';

export interface ConnectionsOptions
  extends Omit<AskOptions, 'admin'>, Pick<TargetOptions, 'url' | 'header' | 'tokens'> {
  /** Admin address, to ask for the connections of all users instead of the caller's own. */
  readonly admin?: string;
  readonly json?: boolean;
}

const answerMs = 30_000;

export function listConnections(options: ConnectionsOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const { connections, total } = await listed(options);
    if (options.json === true) answerJson({ connections, total });
    else if (connections.length === 0) answer('nothing is connected\n');
    else {
      const rows = connections.map(({ server, host, owner, principal, state, since, issuer, scope }) => [
        server,
        host,
        ...(options.admin === undefined ? [] : [printable(owner ?? '-'), principal]),
        state === 'unreadable' ? 'unreadable: a key of the vault is missing' : state,
        since === 0 ? '-' : new Date(since).toISOString(),
        printable(issuer),
        printable(scope ?? '-'),
      ]);
      answer(
        `${alignColumns([['SERVER', 'HOST', ...(options.admin === undefined ? [] : ['USER', 'PRINCIPAL']), 'STATE', 'SINCE', 'ISSUER', 'SCOPE'], ...rows])}\n${total > connections.length ? `and ${total - connections.length} more\n` : ''}`,
      );
    }
  });
}

export function revokeConnection(
  server: string,
  { principal, ...options }: ConnectionsOptions & { readonly principal?: string },
): Promise<void> {
  return runCommand(options.json, async () => {
    if ((options.admin === undefined) !== (principal === undefined))
      throw new CommandProblem(
        'usage',
        '--principal and --admin go together: your own connections are revoked without both',
        { advice: '"omnibus connections list --admin HOST:PORT" shows principals.' },
      );
    const done = await revoked(server, principal, options);
    const words =
      done.wasUnreadable === true
        ? 'its issuer was not asked, since a key of the vault is missing: the tokens are gone here, and good there until they end'
        : done.isRevoked === true
          ? 'its issuer has taken the tokens back'
          : done.isRevoked === false
            ? 'its issuer did not take the tokens back: they are gone here, and good there until they end'
            : 'its issuer takes no tokens back: they are gone here';
    if (options.json === true) answerJson({ server, isRevokedAtIssuer: done.isRevoked ?? null });
    else answer(`${printable(server)} is connected no more; ${words}\n`);
  });
}

export function removeConnections({
  user,
  issuer,
  admin,
  ...options
}: ConnectionsOptions & { readonly user: string; readonly issuer?: string }): Promise<void> {
  return runCommand(options.json, async () => {
    if (admin === undefined)
      throw new CommandProblem(
        'usage',
        '--admin is missing: what a user has connected is removed by an operator, at the admin port of a process that serves clients',
      );
    const { count, notRevoked } = await askApi({ ...options, admin }, 'forget', '/connections', 'POST', {
      user,
      issuer,
    });
    if (options.json === true) answerJson({ user, count, notRevoked });
    else
      answer(
        count === 0
          ? `${printable(user)} has connected nothing\n`
          : `${counted(count, 'connection')} of ${printable(user)} ${count === 1 ? 'is' : 'are'} removed${notRevoked === 0 ? ', and taken back by their issuers' : `; the tokens of ${notRevoked} were not taken back by their issuers, and are good there until they end`}\n`,
      );
  });
}

interface Listed {
  readonly connections: readonly ConnectionRow[];
  readonly total: number;
}

async function listed({ admin, ...options }: ConnectionsOptions): Promise<Listed> {
  if (admin === undefined) {
    const said = (await askGateway(options, 'GET', '/connections')) as Partial<Listed> & { readonly problem?: string };
    if (said.problem !== undefined) throw new CommandProblem('unreachable', said.problem);
    return { connections: said.connections ?? [], total: said.total ?? 0 };
  }
  const { connections, total } = await askApi({ ...options, admin }, 'connections', '/connections');
  return {
    total,
    connections: connections.map(
      ({ id: _id, since, ...row }) => ({ ...row, since: since === undefined ? 0 : Date.parse(since) }) as ConnectionRow,
    ),
  };
}

interface Revoked {
  /** Whether the issuer has taken the tokens back; undefined where it takes none back. */
  readonly isRevoked?: boolean | undefined;
  readonly wasUnreadable?: boolean | undefined;
}

/** @param principal the owner of the connection; undefined for the caller's own. */
async function revoked(
  server: string,
  principal: string | undefined,
  { admin = '', ...options }: ConnectionsOptions,
): Promise<Revoked> {
  if (principal === undefined) {
    const said = (await askGateway(options, 'DELETE', `/connections/${encodeURIComponent(server)}`)) as Revoked & {
      readonly problem?: string;
    };
    if (said.problem !== undefined) throw new CommandProblem('unreachable', said.problem);
    return said;
  }
  const { isRevokedAtIssuer: isRevoked, wasUnreadable } = await askApi(
    { ...options, admin },
    'revoke',
    `/connections/${encodeURIComponent(`${server}|${principal}`)}`,
    'DELETE',
  );
  return { isRevoked, wasUnreadable };
}

async function askGateway(options: ConnectionsOptions, method: 'GET' | 'DELETE', path: string): Promise<unknown> {
  const url = gatewayUrl(options.url);
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new CommandProblem('usage', `--url: expected http://HOST:PORT/mcp, not ${JSON.stringify(url)}`);
  const { origin, pathname } = new URL(url);
  // The gateway may stand below a path.
  const base = pathname.replace(/\/(mcp|sse|ws)?(\/[\w-]+)?\/?$/, '');
  let response: Response;
  try {
    response = await fetch(`${origin}${base}/connect${path}`, {
      method,
      redirect: 'error',
      headers: await credentials(options, url),
      signal: AbortSignal.timeout(answerMs),
    });
  } catch (error) {
    const code = (error as { readonly cause?: { readonly code?: string } }).cause?.code;
    throw problemAt(
      origin,
      undefined,
      code === 'ECONNREFUSED'
        ? 'nothing listens at this address: start a gateway with "omnibus serve", or name another with --url'
        : String(code ?? error),
    );
  }
  const text = await response.text();
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    throw problemAt(origin, response.status, `it answers ${response.status}: is this the address of an omnibus?`);
  }
  if (response.ok) return said;
  throw problemAt(
    origin,
    response.status,
    response.status === 404
      ? 'nothing of yours is connected to that server'
      : ((said as { readonly problem?: string }).problem ?? `it answers ${response.status}`),
  );
}

function problemAt(place: string, status: number | undefined, message: string): CommandProblem {
  return new CommandProblem(
    status === 401 || status === 403
      ? 'forbidden'
      : status === 404
        ? 'unknown'
        : status === undefined
          ? 'unreachable'
          : 'other',
    `${place}: ${message}`,
  );
}
