/** The request of one call. Arguments come from clients: none of them can change the method, the host, the path beyond its parameters, or add a header line. */
import { randomUUID } from 'node:crypto';
import { isObject, printable, type JsonObject } from '@omnibus/protocol';
import type { BodyPlan, FieldPlan, OperationPlan, ParameterPlan, SchemePlan } from './plan.ts';
import { encoded, inHeader, inPath, inQuery, textOf } from './styles.ts';

export interface ApiRequest {
  readonly method: string;
  /** Path and query, below the address of the API. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string | undefined;
}

/** Arguments that no request can be made of, in words for a model. */
export class ArgumentProblem extends Error {}

const usual = { style: 'form', explode: true, isRaw: false } as const;

/**
 * @param base the path of the API's address, without a slash at its end.
 * @param secrets values of security schemes, by the names of the schemes.
 * @throws {ArgumentProblem}
 */
export function requestOf(
  plan: OperationPlan,
  given: JsonObject,
  base: string,
  secrets: ReadonlyMap<string, string> = new Map(),
): ApiRequest {
  const headers: Record<string, string> = { accept: plan.accept };
  const query: string[] = [];
  const cookies: string[] = [];
  let { path } = plan;
  for (const parameter of plan.parameters) {
    const value = valueOf(parameter, given);
    if (value === undefined) continue;
    if (parameter.in === 'path') path = withPart(path, parameter, value);
    else if (parameter.in === 'query') query.push(inQuery(parameter.name, value, parameter));
    else if (parameter.in === 'cookie') cookies.push(cookieOf(parameter, value));
    else headers[parameter.name.toLowerCase()] = headerText(parameter.argument, inHeader(value, parameter));
  }
  // A dot segment would be taken out of the address, also if it or a slash is encoded, by a client or by a proxy that decodes, and the request would go elsewhere (RFC 3986, 5.2.4; WHATWG URL).
  if (path.split(/[/\\]|%2f|%5c/i).some((segment) => /^(\.|%2e){1,2}$/i.test(segment)))
    throw new ArgumentProblem('no part of the path may be "." or ".."');
  for (const scheme of chosenSchemes(plan, secrets))
    place(scheme, secrets.get(scheme.name) as string, { headers, query, cookies });
  if (cookies.length > 0) headers['cookie'] = cookies.join('; ');
  const body = plan.body === undefined ? undefined : bodyOf(plan.body, given[plan.body.argument], headers);
  const asked = query.filter((pair) => pair !== '').join('&');
  return {
    method: plan.method,
    path: `${base}${path}${asked === '' ? '' : `${path.includes('?') ? '&' : '?'}${asked}`}`,
    headers,
    body,
  };
}

function valueOf({ argument, isRequired, isJson, in: where }: ParameterPlan, given: JsonObject): unknown {
  const value = Object.hasOwn(given, argument) ? given[argument] : undefined;
  const isNone = value === undefined || value === null || (where === 'path' && value === '');
  if (isNone && isRequired) throw new ArgumentProblem(`the argument "${argument}" is missing`);
  if (isNone) return undefined;
  return isJson ? JSON.stringify(value) : value;
}

function withPart(path: string, parameter: ParameterPlan, value: unknown): string {
  const text = inPath(parameter.name, value, parameter);
  // Without its part, the path is that of another operation, such as one for all things.
  if (text === '') throw new ArgumentProblem(`the argument "${parameter.argument}" is empty`);
  return path.replaceAll(`{${parameter.name}}`, () => text);
}

function cookieOf(parameter: ParameterPlan, value: unknown): string {
  return inQuery(parameter.name, value, parameter).replaceAll('&', '; ');
}

function headerText(argument: string, text: string): string {
  if (/[^\t\x20-\x7E\x80-\xFF]/.test(text))
    throw new ArgumentProblem(
      `the argument "${argument}" goes into a header, which has one line of Latin-1 characters`,
    );
  return text;
}

/** The first alternative whose secrets are all there. */
function chosenSchemes({ security }: OperationPlan, secrets: ReadonlyMap<string, string>): readonly SchemePlan[] {
  return security.find((schemes) => schemes.length > 0 && schemes.every(({ name }) => secrets.has(name))) ?? [];
}

function place(
  { kind, parameter }: SchemePlan,
  secret: string,
  to: { readonly headers: Record<string, string>; readonly query: string[]; readonly cookies: string[] },
): void {
  if (kind === 'header') to.headers[parameter.toLowerCase()] = secret;
  else if (kind === 'query') to.query.push(`${encoded(parameter)}=${encoded(secret)}`);
  else if (kind === 'cookie') to.cookies.push(`${parameter}=${encoded(secret)}`);
  else if (kind === 'basic') to.headers['authorization'] = `Basic ${Buffer.from(secret, 'utf8').toString('base64')}`;
  else to.headers['authorization'] = kind === 'bearer' && !/^\w+ /.test(secret) ? `Bearer ${secret}` : secret;
}

function bodyOf(plan: BodyPlan, value: unknown, headers: Record<string, string>): Buffer | string | undefined {
  if (value === undefined) {
    if (plan.isRequired) throw new ArgumentProblem(`the argument "${plan.argument}" is missing`);
    return undefined;
  }
  headers['content-type'] = plan.mediaType;
  switch (plan.kind) {
    case 'json':
      return JSON.stringify(value);
    case 'text':
      return textOf(value);
    case 'binary':
      return fileBytes(value, plan.argument).bytes;
    case 'form':
      return members(value, plan)
        .map(([name, each]) => inQuery(name, each, fieldStyle(fieldOf(plan, name), each)))
        .filter((pair) => pair !== '')
        .join('&');
    case 'multipart': {
      const boundary = `omnibus-${randomUUID()}`;
      headers['content-type'] = `${plan.mediaType.split(';')[0] as string}; boundary=${boundary}`;
      return multipart(members(value, plan), plan, boundary);
    }
  }
}

/** The plan of a field that the client has named. */
function fieldOf({ fields }: BodyPlan, name: string): FieldPlan | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

/** Objects of forms without an `encoding` go as most services read them: `name[member]=value`. */
function fieldStyle(field: FieldPlan | undefined, value: unknown): { style: string; explode: boolean; isRaw: boolean } {
  if (field !== undefined) return field;
  return isObject(value) || (Array.isArray(value) && value.some((item) => typeof item === 'object'))
    ? { style: 'deepObject', explode: true, isRaw: false }
    : usual;
}

function members(value: unknown, { argument }: BodyPlan): readonly (readonly [string, unknown])[] {
  if (!isObject(value)) throw new ArgumentProblem(`the argument "${argument}" must be an object`);
  return Object.entries(value).filter(([, each]) => each !== undefined && each !== null);
}

/** RFC 7578. */
function multipart(fields: readonly (readonly [string, unknown])[], plan: BodyPlan, boundary: string): Buffer {
  const chunks: Buffer[] = [];
  for (const [name, value] of fields) {
    const field = fieldOf(plan, name);
    for (const item of Array.isArray(value) && (field === undefined || field.isFile) ? (value as unknown[]) : [value]) {
      const part = field?.isFile === true ? fileBytes(item, `${plan.argument}.${name}`) : plainPart(item);
      const type = part.mimeType ?? field?.mediaType;
      const head = [
        `--${boundary}`,
        `Content-Disposition: form-data; name="${quoted(name)}"${part.filename === undefined ? '' : `; filename="${quoted(part.filename)}"`}`,
        ...(type === undefined ? [] : [`Content-Type: ${headerText(plan.argument, type)}`]),
      ];
      chunks.push(Buffer.from(`${head.join('\r\n')}\r\n\r\n`), part.bytes, Buffer.from('\r\n'));
    }
  }
  return Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]);
}

interface Part {
  readonly bytes: Buffer;
  readonly filename?: string;
  readonly mimeType?: string;
}

function plainPart(value: unknown): Part {
  const isJson = typeof value === 'object';
  return { bytes: Buffer.from(textOf(value)), ...(isJson ? { mimeType: 'application/json' } : {}) };
}

/** A file as an object with `base64` or `text`, or as base64 alone. */
function fileBytes(value: unknown, argument: string): Part {
  const { base64, text, filename, mimeType } = isObject(value) ? value : ({ base64: value } as JsonObject);
  const bytes =
    typeof text === 'string'
      ? Buffer.from(text)
      : typeof base64 === 'string'
        ? fromBase64(base64, argument)
        : undefined;
  if (bytes === undefined)
    throw new ArgumentProblem(`the argument "${argument}" must be a file: an object with "base64" or "text"`);
  return {
    bytes,
    filename: typeof filename === 'string' ? filename : 'file',
    mimeType: typeof mimeType === 'string' ? printable(mimeType, 200) : 'application/octet-stream',
  };
}

function fromBase64(text: string, argument: string): Buffer {
  const plain = text.replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(plain)) throw new ArgumentProblem(`the argument "${argument}" must be base64`);
  return Buffer.from(plain, 'base64');
}

/** A name in quotation marks, as browsers write it (WHATWG HTML, multipart/form-data encoding algorithm). */
function quoted(text: string): string {
  return text.toWellFormed().replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}
