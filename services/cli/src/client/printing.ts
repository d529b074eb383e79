/** Prints results of servers for people. */
import { isObject, printable, type JsonObject } from '@omnibus/protocol';
import { answer, notice, textOf } from '../output/outcome.ts';
import { paint, shown } from '../output/terminal.ts';

/** Writes bytes to a file. @returns its name, for people. */
type Save = (bytes: Buffer) => string;

/** The arguments of a tool as `(query, [limit=30])`: required ones first, optional ones in brackets with their defaults. */
export function signatureOf(tool: JsonObject): string {
  const schema = isObject(tool['inputSchema']) ? tool['inputSchema'] : {};
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
  const fields = Object.entries(isObject(schema['properties']) ? schema['properties'] : {});
  const needed = fields.filter(([name]) => required.has(name)).map(([name]) => printable(name));
  const others = fields
    .filter(([name]) => !required.has(name))
    .map(([name, field]) => {
      const fallback = isObject(field) ? field['default'] : undefined;
      return `[${printable(name)}${fallback === undefined ? '' : `=${printable(typeof fallback === 'string' ? fallback : JSON.stringify(fallback), 30)}`}]`;
    });
  return `(${[...needed, ...others].join(', ')})`;
}

export function printResult(result: JsonObject, save: Save | undefined): void {
  const content = Array.isArray(result['content']) ? result['content'].filter(isObject) : [];
  if (result['isError'] === true) notice(paint('red', 'the tool failed:', process.stderr));
  for (const block of content) printBlock(block, save);
  if (content.length === 0 && result['structuredContent'] !== undefined)
    answer(`${shown(JSON.stringify(result['structuredContent'], null, 2))}\n`);
}

export function printPrompt(result: JsonObject, save: Save | undefined): void {
  for (const message of Array.isArray(result['messages']) ? result['messages'].filter(isObject) : []) {
    answer(`${paint('bold', `${printable(String(message['role']))}:`)}\n`);
    for (const block of Array.isArray(message['content']) ? message['content'] : [message['content']])
      if (isObject(block)) printBlock(block, save);
  }
}

/** Prints the contents of a resource; media types go to stderr, so that stdout can be piped. */
export function printContents(result: JsonObject, save: Save | undefined): void {
  for (const content of Array.isArray(result['contents']) ? result['contents'].filter(isObject) : []) {
    if (typeof content['mimeType'] === 'string' && process.stderr.isTTY)
      notice(paint('dim', printable(content['mimeType']), process.stderr));
    printContent(content, save, true);
  }
}

function printBlock(block: JsonObject, save: Save | undefined): void {
  const { type, text, data, mimeType, resource } = block;
  if (type === 'text' && typeof text === 'string') answer(withEnd(shown(text)));
  else if ((type === 'image' || type === 'audio') && typeof data === 'string')
    printBytes(Buffer.from(data, 'base64'), textOf(mimeType ?? type), save, false);
  else if (type === 'resource' && isObject(resource)) printContent(resource, save, false);
  else if (type === 'resource_link')
    answer(`${printable(textOf(block['name'] ?? ''))}\t${printable(textOf(block['uri'] ?? ''), 2_000)}\n`);
  else answer(`${shown(JSON.stringify(block, null, 2))}\n`);
}

function printContent(content: JsonObject, save: Save | undefined, isAlone: boolean): void {
  if (typeof content['text'] === 'string') answer(withEnd(shown(content['text'])));
  else if (typeof content['blob'] === 'string')
    printBytes(Buffer.from(content['blob'], 'base64'), textOf(content['mimeType'] ?? 'binary'), save, isAlone);
}

/** @param isAlone whether stdout carries contents only, so that bytes can go to a pipe as they are. */
function printBytes(bytes: Buffer, kind: string, save: Save | undefined, isAlone: boolean): void {
  if (save !== undefined) notice(`${printable(kind)}, ${bytes.length} bytes, is in ${save(bytes)}`);
  else if (isAlone && !process.stdout.isTTY) process.stdout.write(bytes);
  else answer(`[${printable(kind)}, ${bytes.length} bytes; --save FILE writes it]\n`);
}

const withEnd = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`);
