/** A call, to be made from a terminal. Credentials are named, never written. */
import { latestModernRevision } from '@omnibus/protocol/revisions';

export interface Copied {
  readonly name: string;
  /** JSON, as it was written. */
  readonly args: string;
  readonly endpoint: string;
}

/** One word of a POSIX shell, whatever is in it. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

export function commandFor({ name, args, endpoint }: Copied): string {
  const isEmpty = /^\s*\{\s*\}\s*$/.test(args);
  return ['omnibus call', ...(endpoint === '' ? [] : [`--endpoint ${shellWord(endpoint)}`]), shellWord(name), ...(isEmpty ? [] : [`--args ${shellWord(compact(args))}`])].join(' ');
}

/** One request that stands alone, as the newest revision has them. @param at of the gateway. */
export function curlFor({ name, args, endpoint }: Copied, at: string): string {
  const meta = `{"io.modelcontextprotocol/protocolVersion":"${latestModernRevision}","io.modelcontextprotocol/clientCapabilities":{}}`;
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${JSON.stringify(name)},"arguments":${compact(args)},"_meta":${meta}}}`;
  const headers = { 'content-type': 'application/json', 'accept': 'application/json, text/event-stream', 'mcp-protocol-version': latestModernRevision, 'mcp-method': 'tools/call', 'mcp-name': headerValue(name) };
  return [
    `curl --globoff -sS ${shellWord(`${at}${endpoint === '' ? '' : `/${endpoint}`}`)}`, ...Object.entries(headers).map(([header, value]) => `-H ${shellWord(`${header}: ${value}`)}`),
    '${OMNIBUS_TOKEN:+-H "authorization: Bearer $OMNIBUS_TOKEN"}', `--data-raw ${shellWord(body)}`,
  ].join(' \\\n  ');
}

/** Ends of lines between values mean nothing, and cost lines of a terminal. Numbers stay as they were written. */
function compact(args: string): string {
  return args.trim().replaceAll(/\n\s*/g, ' ');
}

/** A value that is no plain text is encoded (2026-07-28 basic/transports, Value Encoding). */
function headerValue(text: string): string {
  return /^[\x21-\x7E]([\x20-\x7E]*[\x21-\x7E])?$/.test(text) ? text : `=?base64?${btoa(String.fromCodePoint(...new TextEncoder().encode(text)))}?=`;
}
