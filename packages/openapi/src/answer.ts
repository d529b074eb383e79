/** The answer of an API as the result of a tool, in words that a model can act on. */
import { STATUS_CODES } from 'node:http';
import { isObject, mediaTypeOf, printable, readJson, type JsonObject, type Limits } from '@omnibus/protocol';
import type { OperationPlan, SchemePlan } from './plan.ts';

export interface ApiAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  readonly body: Buffer;
}

export interface AnswerContext {
  readonly plan: OperationPlan;
  /** The address of the request, without its query. */
  readonly address: string;
  readonly limits: Pick<Limits, 'maxJsonDepth' | 'maxJsonValues'>;
  /** Security schemes with a configured value. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly now: () => number;
}

/** The result of a tool (2025-11-25 schema, CallToolResult). */
export interface ToolResult extends Record<string, unknown> {
  readonly content: readonly JsonObject[];
  readonly isError?: boolean;
  readonly structuredContent?: JsonObject;
}

/** Bytes of the body of a refusal that a model sees. */
const maxErrorBody = 8 * 1024;
const maxWaitMs = 24 * 60 * 60_000;

export function toolError(text: string, meta?: JsonObject): ToolResult {
  return { content: [{ type: 'text', text }], isError: true, ...(meta === undefined ? {} : { _meta: meta }) };
}

export function resultOf(answer: ApiAnswer, context: AnswerContext): ToolResult {
  return answer.status < 300 ? success(answer, context) : refusal(answer, context);
}

function success({ status, headers, body }: ApiAnswer, { plan, address, limits }: AnswerContext): ToolResult {
  const type = mediaTypeOf(headers['content-type']);
  const next = nextPage(headers, plan);
  const more = next === undefined ? [] : [{ type: 'text', text: next }];
  const lacking = plan.answer === undefined ? {} : { structuredContent: {} };
  if (body.length === 0)
    return {
      content: [{ type: 'text', text: `HTTP ${status} ${wordOf(status)}, without content` }, ...more],
      ...lacking,
    };
  if (
    /^(application\/(.+\+)?json|text\/json)$/.test(type) ||
    (type === '' && /^\s*[[{]/.test(body.toString('latin1', 0, 64)))
  ) {
    const read = readJson(body, body.length, limits);
    if (read.kind !== 'refused')
      return { content: [{ type: 'text', text: body.toString('utf8') }, ...more], ...structured(read.value, plan) };
  }
  return { content: [contentOf(type, body, address), ...more], ...lacking };
}

/** An object is structured content; any other value becomes its member `result`, as the output schema says. */
function structured(value: unknown, { answer }: OperationPlan): { readonly structuredContent?: JsonObject } {
  if (answer === 'wrapped') return { structuredContent: { result: value } };
  if (isObject(value)) return { structuredContent: value };
  return answer === undefined ? {} : { structuredContent: {} };
}

function contentOf(type: string, body: Buffer, uri: string): JsonObject {
  if (type.startsWith('image/') && type !== 'image/svg+xml')
    return { type: 'image', data: body.toString('base64'), mimeType: type };
  if (type.startsWith('audio/')) return { type: 'audio', data: body.toString('base64'), mimeType: type };
  const text = isText(type) ? utf8(body) : undefined;
  if (text !== undefined) return { type: 'text', text };
  return {
    type: 'resource',
    resource: { uri, mimeType: type === '' ? 'application/octet-stream' : type, blob: body.toString('base64') },
  };
}

function isText(type: string): boolean {
  return (
    type === '' ||
    /^text\/|[/+](json|xml|yaml|x-yaml|javascript|x-www-form-urlencoded|x-ndjson|graphql|csv)$|^image\/svg/.test(type)
  );
}

function utf8(body: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return undefined;
  }
}

function refusal({ status, headers, body }: ApiAnswer, context: AnswerContext): ToolResult {
  const { plan } = context;
  const waitMs = status === 429 || status === 503 ? waitOf(headers, context.now()) : undefined;
  const said = isText(mediaTypeOf(headers['content-type'])) ? printedBody(body) : '';
  const lines = [
    `HTTP ${status} ${wordOf(status)} from ${plan.method} ${printable(plan.path, 300)}.`,
    ...adviceFor(status, waitMs, context),
    ...(said === '' ? [] : ['The API says:', said]),
  ];
  return toolError(lines.join('\n'), {
    'omnibus.dev/http': { status, ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }) },
  });
}

function adviceFor(status: number, waitMs: number | undefined, { plan, secrets }: AnswerContext): readonly string[] {
  if (waitMs !== undefined)
    return [
      `The API takes no request now and did not execute this one. Call again after ${Math.ceil(waitMs / 1_000)} s.`,
    ];
  if (status === 429)
    return ['Too many requests were sent. The API did not execute this one. Wait before you call again.'];
  if (status === 401)
    return [`The API wants credentials, or does not take those of the gateway.${wantedSchemes(plan, secrets)}`];
  if (status === 403) return ['The credentials of the gateway do not allow this.'];
  if (status >= 500 && !/^(GET|HEAD|OPTIONS|QUERY)$/.test(plan.method))
    return ['It is unknown whether the API executed the request: look before you repeat it.'];
  if (status < 400)
    return ['The API redirects to another address, which the gateway does not follow with its credentials.'];
  return [];
}

function wantedSchemes({ security }: OperationPlan, secrets: ReadonlyMap<string, string>): string {
  const names = [...new Set(security.flat().map(({ name }: SchemePlan) => name))].filter((name) => !secrets.has(name));
  return names.length === 0
    ? ''
    : ` Its operator can set ${names.map((name) => `openapi.security.${printable(name, 60)}`).join(' or ')}.`;
}

/** Until when the API takes no request (RFC 9110, 10.2.3), in milliseconds from now. */
function waitOf({ 'retry-after': said }: ApiAnswer['headers'], now: number): number | undefined {
  if (typeof said !== 'string') return undefined;
  const ms = /^\d+$/.test(said.trim()) ? Number(said) * 1_000 : Date.parse(said) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), maxWaitMs);
}

function printedBody(body: Buffer): string {
  const text = body.toString('utf8', 0, maxErrorBody).trim();
  return body.length > maxErrorBody ? `${text}… (${body.length} bytes)` : text;
}

/** The arguments for the next page, if the API names it (RFC 8288, `rel=next`) and they are parameters of the operation. */
function nextPage({ link }: ApiAnswer['headers'], { parameters }: OperationPlan): string | undefined {
  if (typeof link !== 'string' || link.length > 8_192) return undefined;
  const [, target] = /<([^<>]*)>[^,<>]*;\s*rel="?next"?/i.exec(link) ?? [];
  if (target === undefined || !URL.canParse(target, 'http://api.invalid')) return undefined;
  const { searchParams } = new URL(target, 'http://api.invalid');
  const given = parameters.flatMap((parameter) => {
    const value = parameter.in === 'query' ? searchParams.get(parameter.name) : null;
    return value === null ? [] : [[parameter.argument, value] as const];
  });
  if (given.length === 0) return undefined;
  return `There are more. For the next page call this tool again with: ${JSON.stringify(Object.fromEntries(given))}`;
}

function wordOf(status: number): string {
  return STATUS_CODES[status] ?? '';
}
