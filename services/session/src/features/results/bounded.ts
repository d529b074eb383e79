/**
 * Cuts a result of a tool to its bound. What does not fit becomes parts, which are stored, and previews by their type. A part that is shown in a preview is
 * exact; `structuredContent` is left out or stays whole, and is never shortened.
 */
import { isObject, readJson, type JsonObject, type Limits, type StoredPart } from '@omnibus/protocol';
import { csvPreview } from './csv-preview.ts';
import { jsonPreview } from './json-preview.ts';
import { pixelsOf } from './media.ts';
import { beginning, counted, ending, lineCount } from './texts.ts';

/** Characters that count as one token. */
const charactersPerToken = 4;
/** Blocks that are this part of the room, or less, stay as they are, as long as all of them take half of it. */
const smallShare = 8;
/** Parts with a preview of their own; others are counted. */
const maxPreviews = 4;
/** Characters of a media type, as servers give it. */
const maxTypeLength = 60;
/** Characters of names, links and counts around previews. */
const linkCharacters = 620;

export type JsonBounds = Pick<Limits, 'maxJsonDepth' | 'maxJsonValues'>;

export interface CutResult {
  /** What is stored. */
  readonly parts: readonly StoredPart[];
  readonly bytes: number;
  /** Characters of the whole that the bound is for. */
  readonly length: number;
  /** @param stored the URI of the whole and its time, or the reason why it was not stored. */
  answer(stored: Stored): JsonObject;
}

export type Stored = { readonly uri: string; readonly keepMs: number } | { readonly problem: string };

/** A block of the answer: a block of the result as it is, or a preview of a part. */
type Block = { readonly given: unknown } | { readonly part: number };

/** @returns undefined for a result within its bound. @param keepsStructured whether `structuredContent` stays, whatever its size. */
export function cutTo(
  maxTokens: number,
  result: JsonObject,
  keepsStructured: boolean,
  limits: JsonBounds,
): CutResult | undefined {
  const { content, structuredContent, ...others } = result;
  const given: readonly unknown[] = Array.isArray(content) ? content : [];
  const structured = keepsStructured ? undefined : structuredContent;
  const lengths = given.map((block) => JSON.stringify(block).length);
  const structuredText = structured === undefined ? undefined : JSON.stringify(structured);
  const length = lengths.reduce((sum, each) => sum + each + 1, 2) + (structuredText?.length ?? 0);
  const room = maxTokens * charactersPerToken;
  if (length <= room) return undefined;
  const parts: StoredPart[] = [];
  const blocks: Block[] = [];
  let kept = 0;
  for (const [at, block] of given.entries()) {
    const size = lengths[at] as number;
    if (size <= room / smallShare && kept + size <= room / 2) {
      kept += size;
      blocks.push({ given: block });
    } else blocks.push({ part: parts.push(partOf(block)) - 1 });
  }
  if (structuredText !== undefined && !parts.some(({ data }) => isSame(data, structuredText, limits)))
    blocks.push({ part: parts.push({ kind: 'text', data: structuredText, mimeType: 'application/json' }) - 1 });
  const members = keepsStructured && structuredContent !== undefined ? { ...others, structuredContent } : others;
  return {
    parts,
    bytes: parts.reduce((sum, { data }) => sum + Buffer.byteLength(data), 0),
    length,
    answer: (stored) => ({ ...members, content: contentWithin(room, kept, { blocks, parts, stored, limits }) }),
  };
}

interface Made {
  readonly blocks: readonly Block[];
  readonly parts: readonly StoredPart[];
  readonly stored: Stored;
  readonly limits: JsonBounds;
}

/** The content of the answer, with previews that are as long as they fit. */
function contentWithin(room: number, kept: number, made: Made): readonly JsonObject[] {
  let left = room - kept - linkCharacters;
  for (let attempt = 0; attempt < 6; attempt += 1) {
    const content = contentOf(made, left);
    const over = JSON.stringify(content).length - room;
    if (over <= 0) return content;
    left = Math.min(left - over, left * 0.8);
  }
  // Even the counts of the previews are too much.
  return contentOf({ ...made, blocks: [] }, 0);
}

function contentOf({ blocks, parts, stored, limits }: Made, room: number): readonly JsonObject[] {
  const shown = blocks.length === 0 ? 0 : Math.min(parts.length, maxPreviews);
  const content: JsonObject[] = [];
  for (const block of blocks)
    if ('given' in block) content.push(block.given as JsonObject);
    else if (block.part < shown) {
      const name = parts.length > 1 ? `part ${block.part + 1}: ` : '';
      content.push({ type: 'text', text: name + previewOf(parts[block.part] as StoredPart, room / shown, limits) });
    }
  const more =
    parts.length > shown
      ? ` ${counted(parts.length - shown)} ${shown === 0 ? 'parts' : 'more parts'} are not shown.`
      : '';
  if ('problem' in stored)
    return [
      ...content,
      { type: 'text', text: `[This result is cut, and the rest was not stored: ${stored.problem}.${more}]` },
    ];
  const { uri, keepMs } = stored;
  const how = parts.length > 1 ? '"part" with "bytes"' : '"bytes"';
  return [
    ...content,
    {
      type: 'text',
      text: `[This result is cut.${more} The whole is stored for ${Math.ceil(keepMs / 60_000)} minutes: read_result with uri ${uri} and ${how}, "lines", "path" or "search".]`,
    },
    { type: 'resource_link', uri, name: 'whole result', mimeType: parts.length === 1 ? parts[0]?.mimeType : undefined },
  ];
}

function partOf(block: unknown): StoredPart {
  const { type, text, data, mimeType, resource } = isObject(block) ? block : {};
  const named = typeof mimeType === 'string' ? mimeType.slice(0, maxTypeLength) : undefined;
  if (type === 'text' && typeof text === 'string') return { kind: 'text', data: text, mimeType: 'text/plain' };
  if ((type === 'image' || type === 'audio') && typeof data === 'string')
    return { kind: 'blob', data, mimeType: named };
  if (type === 'resource' && isObject(resource)) {
    const of = typeof resource['mimeType'] === 'string' ? resource['mimeType'].slice(0, maxTypeLength) : undefined;
    if (typeof resource['text'] === 'string') return { kind: 'text', data: resource['text'], mimeType: of };
    if (typeof resource['blob'] === 'string') return { kind: 'blob', data: resource['blob'], mimeType: of };
  }
  return { kind: 'text', data: JSON.stringify(block), mimeType: 'application/json' };
}

/** Whether a text is the same value as a JSON text. Servers repeat structured content as text (2025-06-18 server/tools, Structured Content). */
function isSame(text: string, structured: string, limits: JsonBounds): boolean {
  if (text === structured) return true;
  const value = jsonIn(text, limits);
  return value !== undefined && JSON.stringify(value.value) === structured;
}

/** The value of a text that is JSON with elements or members. */
export function jsonIn(text: string, limits: JsonBounds): { readonly value: unknown } | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  const read = readJson(text, Infinity, limits);
  return read.kind === 'json' ? { value: read.value } : undefined;
}

function previewOf({ kind, data, mimeType }: StoredPart, room: number, limits: JsonBounds): string {
  if (kind === 'blob') {
    const pixels = pixelsOf(data);
    const size = pixels === undefined ? '' : `, ${pixels.width} × ${pixels.height} pixels`;
    return `${mimeType ?? 'bytes'}, ${counted(Buffer.byteLength(data, 'base64'))} bytes${size}`;
  }
  const about = `${counted(Buffer.byteLength(data))} bytes`;
  const json = jsonIn(data, limits);
  if (json !== undefined) return `JSON, ${about}\n${jsonPreview(json.value, room)}`;
  const table = csvPreview(data, room);
  if (table !== undefined) return `${about}, ${table}`;
  const head = beginning(data, (room * 2) / 3);
  const tail = ending(data.slice(head.length), room / 3);
  const from = Buffer.byteLength(head);
  const to = Buffer.byteLength(data) - Buffer.byteLength(tail);
  const lines = lineCount(data) - lineCount(head) - lineCount(tail);
  return `text, ${about}, ${counted(lineCount(data))} lines\n${head}\n[… bytes ${from}-${to - 1}, about ${counted(Math.max(0, lines))} lines, are left out …]\n${tail}`;
}
