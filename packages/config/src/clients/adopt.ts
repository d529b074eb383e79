/** Turns the file of an MCP client into a configuration of Omnibus: its servers, and remarks about them. */
import { isToken } from '@omnibus/protocol';
import type { Path } from '../problem.ts';
import { isMap, type Values } from './recognize.ts';
import type { Client } from './table.ts';
import { inputVariable, translatePlaceholders } from './variables.ts';
import { translateEntry } from './translate.ts';

export interface RemarkAt {
  /** In the client's file. */
  readonly path: Path;
  readonly text: string;
}

export interface Adopted {
  /** Whether the file has a place where the client keeps servers. */
  readonly hasServers: boolean;
  readonly value: { readonly mcpServers: Readonly<Record<string, unknown>> };
  readonly notes: readonly RemarkAt[];
  readonly losses: readonly RemarkAt[];
  /** The path in the client's file that the value at a path of `value` comes from. */
  readonly origin: (path: Path) => Path;
}

/** @param file names the file, for placeholders such as `${workspaceFolder}`. */
export function adopt(client: Client, file: string, value: unknown): Adopted {
  const found = serversIn(client, value);
  const servers: Record<string, unknown> = {};
  const origins = new Map<string, { readonly path: Path; readonly calledBefore: Readonly<Record<string, string>> }>();
  const notes: RemarkAt[] = [...elsewhere(client, value)];
  const losses: RemarkAt[] = [];
  const allowed = isMap(value) ? allowedOf(value) : () => true;
  for (const { name: given, path, entry } of found ?? []) {
    if (!isMap(entry)) {
      servers[given] = entry;
      origins.set(given, { path, calledBefore: {} });
      continue;
    }
    const { server, calledBefore, notes: noted, losses: lost } = translateEntry(client, entry);
    if (client.id === 'goose' && server['disabled'] === true) continue;
    if (isThisGateway(given, server)) {
      notes.push({ path, text: 'it is this gateway itself, which cannot be its own server; it is left out' });
      continue;
    }
    const name = freeName(given, servers);
    if (name !== given)
      notes.push({ path, text: `its name here is "${name}": names are letters, digits, "_" and "-"` });
    servers[name] = placeholders(
      { ...server, ...(allowed(given) ? {} : { disabled: true }) },
      { file, takesBare: client.id === 'gemini' },
    );
    origins.set(name, { path, calledBefore });
    for (const { option, text } of noted) notes.push({ path: [...path, option], text });
    for (const { option, text } of lost) losses.push({ path: [...path, option], text });
    for (const { path: where, id } of inputsIn(entry, path))
      notes.push({
        path: where,
        text: `${client.name} asks its user for this value; here it is taken from the environment variable ${inputVariable(id)}`,
      });
  }
  return {
    hasServers: found !== undefined,
    value: { mcpServers: servers },
    notes,
    losses,
    origin: ([top, name, option, ...rest]) => {
      const origin = top === 'mcpServers' && typeof name === 'string' ? origins.get(name) : undefined;
      if (origin === undefined) return [top, name, option, ...rest].filter((step) => step !== undefined);
      if (option === undefined) return origin.path;
      const before = origin.calledBefore[String(option)];
      return before === undefined ? [...origin.path, option, ...rest] : [...origin.path, before];
    },
  };
}

interface Found {
  readonly name: string;
  readonly path: Path;
  readonly entry: unknown;
}

function serversIn({ keys }: Client, value: unknown): Found[] | undefined {
  const all: readonly (readonly string[])[] = [...keys, ['mcpServers'], ['servers']];
  for (const key of all) {
    const servers = key.reduce<unknown>((at, step) => (isMap(at) ? at[step] : undefined), value);
    if (Array.isArray(servers))
      return servers.map((entry: unknown, index) => ({
        name: isMap(entry) && typeof entry['name'] === 'string' ? entry['name'] : `server-${index + 1}`,
        path: [...key, index],
        entry,
      }));
    if (isMap(servers)) return Object.entries(servers).map(([name, entry]) => ({ name, path: [...key, name], entry }));
  }
  return undefined;
}

/** Claude Code keeps servers of single projects in the same file. */
function elsewhere(client: Client, value: unknown): RemarkAt[] {
  if (client.id !== 'claude-code' || !isMap(value) || !isMap(value['projects'])) return [];
  return Object.entries(value['projects']).flatMap(([folder, project]) => {
    const count = isMap(project) && isMap(project['mcpServers']) ? Object.keys(project['mcpServers']).length : 0;
    return count === 0
      ? []
      : [
          {
            path: ['projects', folder, 'mcpServers'],
            text: `${count === 1 ? 'a server' : `${count} servers`} of a single project; left out`,
          },
        ];
  });
}

/** Gemini CLI has lists of the servers it uses. */
function allowedOf(value: Values): (name: string) => boolean {
  const { allowed, excluded } = isMap(value['mcp']) ? value['mcp'] : {};
  return (name) =>
    (!Array.isArray(allowed) || allowed.includes(name)) && !(Array.isArray(excluded) && excluded.includes(name));
}

/** What `omnibus connect` has written, or somebody by hand. */
function isThisGateway(name: string, { url, command, args }: Values): boolean {
  if (typeof url === 'string')
    return name === 'omnibus' && /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?\/mcp(\/|$)/.test(url);
  if (Array.isArray(args) && args.includes('stdio') && args.includes('--connect')) return true;
  // Under another name it is a different gateway, which may be a server of this one.
  return name === 'omnibus' && typeof command === 'string' && /(^|[/\\])omnibus(\.js)?$/.test(command);
}

function freeName(given: string, taken: Readonly<Record<string, unknown>>): string {
  const fitting = isToken(given)
    ? given
    : given
        .replaceAll(/[^A-Za-z0-9_-]+/g, '_')
        .replaceAll(/^_+|_+$/g, '')
        .slice(0, 60) || 'server';
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? fitting : `${fitting}-${number}`;
    if (!Object.hasOwn(taken, name)) return name;
  }
}

function placeholders(value: unknown, where: { readonly file: string; readonly takesBare: boolean }): unknown {
  if (typeof value === 'string') return translatePlaceholders(value, where);
  if (Array.isArray(value)) return value.map((item) => placeholders(item, where));
  return isMap(value)
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, placeholders(item, where)]))
    : value;
}

function inputsIn(value: unknown, path: Path): { readonly path: Path; readonly id: string }[] {
  if (typeof value === 'string')
    return [...value.matchAll(/\$\{input:([^}]*)\}/g)].map(([, id]) => ({ path, id: id as string }));
  if (Array.isArray(value)) return value.flatMap((item, index) => inputsIn(item, [...path, index]));
  return isMap(value) ? Object.entries(value).flatMap(([key, item]) => inputsIn(item, [...path, key])) : [];
}
