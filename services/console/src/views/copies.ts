/** Commands that make a call from a terminal. They refer to credentials by a variable and never contain them. */
import { latestModernRevision } from '@omnibus/protocol/revisions';

export interface Copied {
  readonly name: string;
  /** JSON text, as it was written. */
  readonly args: string;
  readonly endpoint: string;
}

/** Quotes a text so that a POSIX shell takes it as one word. */
export function shellWord(text: string): string {
  // A word that begins with "=" is the path of a program for zsh.
  return /^(?!=)[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

export function commandFor({ name, args, endpoint }: Copied): string {
  const isEmpty = /^\s*\{\s*\}\s*$/.test(args);
  const given = isEmpty ? [] : [`--args ${shellWord(compact(args))}`];
  const named = name.startsWith('-') ? [...given, `-- ${shellWord(name)}`] : [shellWord(name), ...given];
  return ['omnibus call', ...(endpoint === '' ? [] : [`--endpoint ${shellWord(endpoint)}`]), ...named].join(' ');
}

/** A `curl` command with one request without a session, as in the newest revision. @param at address of the gateway's endpoint. */
export function curlFor({ name, args, endpoint }: Copied, at: string): string {
  const meta = `{"io.modelcontextprotocol/protocolVersion":"${latestModernRevision}","io.modelcontextprotocol/clientCapabilities":{}}`;
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${JSON.stringify(name)},"arguments":${compact(args)},"_meta":${meta}}}`;
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': latestModernRevision,
    'mcp-method': 'tools/call',
    'mcp-name': headerValue(name),
  };
  return [
    `curl --globoff -sS ${shellWord(`${at}${endpoint === '' ? '' : `/${endpoint}`}`)}`,
    ...Object.entries(headers).map(([header, value]) => `-H ${shellWord(`${header}: ${value}`)}`),
    // Two words, since zsh would make one of an expansion with a blank.
    '${OMNIBUS_TOKEN:+-H} ${OMNIBUS_TOKEN:+"authorization: Bearer $OMNIBUS_TOKEN"}',
    `--data-raw ${shellWord(body)}`,
  ].join(' \\\n  ');
}

/** Joins the lines of JSON without parsing it, so that numbers stay as they were written. */
function compact(args: string): string {
  return args.trim().replaceAll(/\n\s*/g, ' ');
}

/** Encodes the value of a header if it is not printable ASCII (2026-07-28 basic/transports, Value Encoding). */
function headerValue(text: string): string {
  return /^[\x21-\x7E]([\x20-\x7E]*[\x21-\x7E])?$/.test(text)
    ? text
    : `=?base64?${btoa(String.fromCodePoint(...new TextEncoder().encode(text)))}?=`;
}
